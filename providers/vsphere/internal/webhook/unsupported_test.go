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

// TestEveryFieldIsActedOnOrRefused lists the fields that controllers act on.
// Every other field of the schema must be forbidden when it is set, and none of
// the listed ones.
func TestEveryFieldIsActedOnOrRefused(t *testing.T) {
	clone := []string{
		"template", "cloneMode", "snapshot", "server", "thumbprint", "datacenter", "folder", "datastore", "resourcePool",
		"network", "numCPUs", "numCoresPerSocket", "memoryMiB", "diskGiB", "customVMXKeys", "tagIDs", "os",
		"storagePolicyName", "resources", "additionalDisksGiB", "dataDisks", "ftEncryptionMode", "migrateEncryption", "cryptoKeyID", "cryptoProfile",
		"hardwareVersion", "nestedHV", "pciDevices",
	}
	machine := append(slices.Clone(clone), "providerID", "powerOffMode", "guestSoftPowerOffTimeoutSeconds", "naming")
	vm := append(slices.Clone(clone), "placement", "bootstrapRef", "biosUUID", "powerOffMode", "guestSoftPowerOffTimeoutSeconds")
	testFields(t, machine, validateMachine)
	testFields(t, vm, validateVM)
	testFields(t, []string{
		"networkName", "deviceName", "dhcp4", "dhcp6", "gateway4", "gateway6", "ipAddrs", "mtu", "macAddr", "nameservers",
		"routes", "searchDomains", "dhcp4Overrides", "dhcp6Overrides", "skipIPAllocation", "addressesFromPools",
	}, validateDevice)
	testFields(t, []string{
		"server", "thumbprint", "controlPlaneEndpoint", "identityRef", "clusterModules", "disableClusterModule", "failureDomainSelector", "distribution",
	}, validateCluster)
	testFields(t, []string{"server", "thumbprint", "identityRef", "failureDomain", "controlPlane", "placementConstraint"}, validateZone)
	testFields(t, []string{
		"datacenter", "computeCluster", "hosts", "networks", "networkConfigurations", "datastore", "template",
	}, validateConfigurations)
	testFields(t, []string{
		"networkName", "dhcp4", "dhcp6", "nameservers", "searchDomains", "dhcp4Overrides", "dhcp6Overrides", "addressesFromPools",
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

// testFields sets one field of T after the other.
func testFields[T any](t *testing.T, actedOn []string, validate func(T, *field.Path) field.ErrorList) {
	t.Helper()
	var spec T
	t.Run(reflect.TypeOf(spec).Name(), func(t *testing.T) {
		fields := fieldsOf(reflect.TypeOf(spec))
		for _, name := range actedOn {
			NewWithT(t).Expect(fields).To(HaveKey(name), "a field that is acted on must be in the schema")
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
				if slices.Contains(actedOn, name) {
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

// fill gives a value something that is not its zero value.
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
