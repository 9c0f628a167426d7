// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestRoundTrip(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	normal := slices.Concat(normalHub(), normalSpoke(), normalShared())
	t.Run("VSphereCluster", rulestest.Keeping(scheme, clusterFromHub, clusterToHub, normal...))
	t.Run("VSphereClusterIdentity", rulestest.Keeping(scheme, identityFromHub, identityToHub, normal...))
	t.Run("VSphereClusterTemplate", rulestest.Keeping(scheme, clusterTemplateFromHub, clusterTemplateToHub, normal...))
	t.Run("VSphereDeploymentZone", rulestest.Keeping(scheme, zoneFromHub, zoneToHub, normal...))
	t.Run("VSphereFailureDomain", rulestest.Keeping(scheme, domainFromHub, domainToHub, normal...))
	t.Run("VSphereMachine", rulestest.Keeping(scheme, machineFromHub, machineToHub, normal...))
	t.Run("VSphereMachineTemplate", rulestest.Keeping(scheme, machineTemplateFromHub, machineTemplateToHub, normal...))
	t.Run("VSphereVM", rulestest.Keeping(scheme, vmFromHub, vmToHub, normal...))
}

// normalHub leaves out values that the schema of v1beta2 rejects, and empty structs.
func normalHub() []any {
	return []any{
		func(status **infrav1.DeprecatedStatus, c randfill.Continue) {
			if conditions := deprecatedConditions(c); conditions != nil {
				*status = &infrav1.DeprecatedStatus{V1Beta1: &infrav1.V1Beta1DeprecatedStatus{Conditions: conditions}}
			}
		},
		func(status **infrav1.MachineDeprecatedStatus, c randfill.Continue) {
			if conditions := deprecatedConditions(c); conditions != nil {
				*status = &infrav1.MachineDeprecatedStatus{V1Beta1: &infrav1.MachineV1Beta1DeprecatedStatus{Conditions: conditions}}
				c.Fill(&(*status).V1Beta1.FailureReason)
				c.Fill(&(*status).V1Beta1.FailureMessage)
			}
		},
		func(domains *[]clusterv1.FailureDomain, c randfill.Continue) {
			c.FillNoCustom(domains)
			for i := range *domains {
				if domain := &(*domains)[i]; domain.ControlPlane == nil {
					domain.ControlPlane = ptr.To(false)
				}
			}
			slices.SortFunc(*domains, func(a, b clusterv1.FailureDomain) int { return strings.Compare(a.Name, b.Name) })
			*domains = slices.CompactFunc(*domains, func(a, b clusterv1.FailureDomain) bool { return a.Name == b.Name })
		},
		func(module *infrav1.ClusterModule, c randfill.Continue) {
			c.FillNoCustom(module)
			module.ControlPlane = ptr.To(c.Bool())
		},
		func(route *infrav1.NetworkRouteSpec, c randfill.Continue) {
			c.FillNoCustom(route)
			route.Metric = ptr.To(c.Int31())
		},
		func(spec *infrav1.VSphereMachineSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.Template, spec.GuestSoftPowerOffTimeoutSeconds = "template", c.Int31()
		},
		func(spec *infrav1.VSphereVMSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.Template, spec.GuestSoftPowerOffTimeoutSeconds = "template", c.Int31()
		},
	}
}

func deprecatedConditions(c randfill.Continue) clusterv1.Conditions { //nolint:staticcheck // it is what v1beta1 shows
	var conditions clusterv1.Conditions //nolint:staticcheck // it is what v1beta1 shows
	c.Fill(&conditions)
	if len(conditions) == 0 {
		return nil
	}
	return conditions
}

// normalSpoke leaves out values that v1beta2 does not have, and values without meaning: empty structs and pointers to empty
// strings.
func normalSpoke() []any {
	return []any{
		func(spec *v1beta1.NetworkSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.PreferredAPIServerCIDR = ""
		},
		func(spec *v1beta1.VirtualMachineCloneSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if spec.NumCoresPerSocket != nil && *spec.NumCoresPerSocket == 0 {
				spec.NumCoresPerSocket = nil
			}
		},
		func(spec *v1beta1.VSphereMachineSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.FailureDomain, spec.GuestSoftPowerOffTimeout = nil, seconds(c)
			spec.ProviderID = meant(spec.ProviderID)
			if spec.NamingStrategy != nil && meant(spec.NamingStrategy.Template) == nil {
				spec.NamingStrategy = nil
			}
		},
		func(spec *v1beta1.VSphereVMSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.GuestSoftPowerOffTimeout = seconds(c)
			spec.BootstrapRef = nil
		},
		func(vm *v1beta1.VSphereVM, c randfill.Continue) {
			c.FillNoCustom(vm)
			if c.Bool() {
				vm.Spec.BootstrapRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: "data", Namespace: vm.Namespace}
			}
		},
		func(spec *v1beta1.VSphereClusterSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if spec.IdentityRef != nil && *spec.IdentityRef == (v1beta1.VSphereIdentityReference{}) {
				spec.IdentityRef = nil
			}
		},
		func(topology *v1beta1.Topology, c randfill.Continue) {
			c.FillNoCustom(topology)
			topology.ComputeCluster = meant(topology.ComputeCluster)
			if topology.Hosts != nil && *topology.Hosts == (v1beta1.FailureDomainHosts{}) {
				topology.Hosts = nil
			}
		},
	}
}

// normalShared does the same for structs that several v1beta1 kinds share.
func normalShared() []any {
	return []any{
		func(reference *corev1.TypedLocalObjectReference, c randfill.Continue) {
			c.FillNoCustom(reference)
			reference.APIGroup = meant(reference.APIGroup)
		},
		func(overrides *v1beta1.DHCPOverrides, c randfill.Continue) {
			c.FillNoCustom(overrides)
			if overrides.RouteMetric != nil {
				overrides.RouteMetric = ptr.To(int(c.Int31()))
			}
		},
		func(status **v1beta1.V1Beta2Status, c randfill.Continue) {
			conditions := []metav1.Condition{}
			if c.Fill(&conditions); len(conditions) > 0 {
				*status = &v1beta1.V1Beta2Status{Conditions: conditions}
			}
		},
	}
}

// meant returns nil for an empty string.
func meant(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	return text
}

func seconds(c randfill.Continue) *metav1.Duration {
	if c.Bool() {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(1+c.Int31n(math.MaxInt32-1)) * time.Second}
}
