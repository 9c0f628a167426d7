// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// acts maps the supported fields to the tests that cover them.
type acts map[string]string

func (a acts) and(more acts) acts {
	all := maps.Clone(a)
	maps.Copy(all, more)
	return all
}

// TestEveryFieldIsUsedOrRejected lists the supported fields, each with a test that covers it. Every other field of the schema
// must be rejected when it is set, and none of the listed ones. A listed field must be read by code other than a webhook or a
// conversion, and its test must exist and use it.
func TestEveryFieldIsUsedOrRejected(t *testing.T) {
	const (
		asSpecified, stored, modes, told = "TestMachineMatchesSpec", "TestMachineStorage", "TestCloneModes", "TestMetadata"
		static, pools, soft              = "TestStaticAddressesReachTheGuestAndAreReported", "TestMachineGetsPoolAddressesBeforeClone", "TestPowerOffModesOfResponsiveGuest"
		mine, zones                      = "TestClusterDefaults", "TestZoneTakesPrecedence"
		named, checks, cards             = "TestWrongNamesCreateNothing", "TestZoneCheckReasons", "TestZoneNetworks"
	)
	clone := acts{
		"template": modes, "cloneMode": modes, "snapshot": modes, "server": mine, "thumbprint": mine, "datacenter": named, "folder": asSpecified,
		"datastore": asSpecified, "resourcePool": asSpecified, "network": asSpecified, "numCPUs": asSpecified, "numCoresPerSocket": asSpecified,
		"memoryMiB": asSpecified, "diskGiB": stored, "customVMXKeys": asSpecified, "tagIDs": asSpecified,
		"os":                "TestWindowsMachineName",
		"storagePolicyName": stored, "resources": stored, "additionalDisksGiB": stored, "dataDisks": stored, "ftEncryptionMode": stored,
		"migrateEncryption": stored, "cryptoKeyID": stored, "cryptoProfile": stored,
		"hardwareVersion": "TestHardwareIsUpgradedBeforeTheFirstStartAndNeverDowngraded", "nestedHV": "TestSettingsOfTheProcessorReachTheClone",
		"pciDevices": "TestPCIDevicesAreAdded",
	}
	power := acts{"powerOffMode": soft, "guestSoftPowerOffTimeoutSeconds": soft}
	testFields(t, clone.and(power).and(acts{"providerID": asSpecified, "naming": "TestNamingTemplate"}), validateMachine)
	testFields(t, clone.and(power).and(acts{
		"placement": zones, "bootstrapRef": "TestForeignBIOSUUIDDoesNotIdentify", "biosUUID": "TestPatchWithConcurrentWriter",
	}), validateVM)
	testFields(t, acts{
		"networkName": asSpecified, "deviceName": static, "dhcp4": asSpecified, "dhcp6": told, "gateway4": static, "gateway6": static, "ipAddrs": static,
		"mtu": told, "macAddr": asSpecified, "nameservers": told, "routes": told, "searchDomains": told, "dhcp4Overrides": told, "dhcp6Overrides": told,
		"skipIPAllocation": "TestGuestBridgeAddressIsIgnored", "addressesFromPools": pools,
	}, validateDevice)
	testFields(t, acts{
		"additionalServers": "TestZoneOnAnotherVCenterIsAFailureDomainOfTheCluster",
		"server":            mine, "thumbprint": mine, "controlPlaneEndpoint": byClusterAPI, "identityRef": "TestClustersWithDifferentPlacementConstraints",
		"clusterModules":       "TestUpstreamModulesAreUsedAndRecreated",
		"disableClusterModule": "TestDisabledModulesAreDeleted", "failureDomainSelector": "TestSelects",
		"distribution": "TestBrokenZoneIsCordonedAndRecovers",
	}, validateCluster)
	testFields(t, acts{
		"server": zones, "thumbprint": zones, "identityRef": "TestZoneIsCheckedWithItsOwnIdentity", "failureDomain": checks,
		"controlPlane": "TestZoneForWorkersOnly", "placementConstraint": checks,
	}, validateZone)
	testFields(t, acts{
		"datacenter": checks, "computeCluster": checks, "hosts": "TestHostTagSelectsHostGroup", "networks": checks, "datastore": checks,
		"networkConfigurations": "TestPoolOfFailureDomain", "template": "TestTemplateOfTheZone",
	}, validateConfigurations)
	testFields(t, acts{
		"networkName": cards, "dhcp4": cards, "dhcp6": cards, "nameservers": cards, "searchDomains": cards, "dhcp4Overrides": cards, "dhcp6Overrides": cards,
		"addressesFromPools": "TestPoolOfFailureDomain",
	}, func(configuration infrav1.NetworkConfiguration, path *field.Path) field.ErrorList {
		topology := infrav1.Topology{NetworkConfigurations: []infrav1.NetworkConfiguration{configuration}}
		var errs field.ErrorList
		for _, err := range validateConfigurations(topology, field.NewPath("topology")) {
			errs = append(errs, &field.Error{Type: err.Type, Detail: err.Detail,
				Field: strings.Replace(err.Field, "topology.networkConfigurations[0]", path.String(), 1)})
		}
		return errs
	})
}

// testFields sets the fields of T one by one.
func testFields[T any](t *testing.T, actedOn acts, validate func(T, *field.Path) field.ErrorList) {
	t.Helper()
	var spec T
	t.Run(reflect.TypeOf(spec).Name(), func(t *testing.T) {
		typ, written := reflect.TypeOf(spec), readSources(t)
		fields := fieldsOf(typ)
		for _, name := range slices.Sorted(maps.Keys(actedOn)) {
			g := NewWithT(t)
			g.Expect(fields).To(HaveKey(name), "a field that is acted on must be in the schema")
			written.expect(g, typ.FieldByIndex(fields[name]).Name, actedOn[name])
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			t.Run(name, func(t *testing.T) {
				var spec T
				fill(reflect.ValueOf(&spec).Elem().FieldByIndex(fields[name]))
				var details []string
				for _, err := range validate(spec, field.NewPath("spec")) {
					if err.Field == "spec."+name && err.Type == field.ErrorTypeForbidden {
						details = append(details, err.Detail)
					}
				}
				g := NewWithT(t)
				if _, listed := actedOn[name]; listed {
					g.Expect(details).To(BeEmpty())
					return
				}
				g.Expect(details).To(ConsistOf(HavePrefix("not supported by this version of the provider: remove it")))
			})
		}
	})
}

// fieldsOf maps the JSON names of a struct's fields to their indexes.
func fieldsOf(typ reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			fields[name] = f.Index
		}
	}
	return fields
}

// fill sets a value to something other than its zero value.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Bool:
		value.SetBool(true)
	case reflect.String:
		value.SetString("x")
	case reflect.Int32, reflect.Int64:
		value.SetInt(4)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("x"))
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[resource.Quantity]() {
			value.Set(reflect.ValueOf(resource.MustParse("1")))
			return
		}
		fill(value.Field(0))
	default:
		panic(fmt.Sprintf("cannot fill %s", value.Type()))
	}
}
