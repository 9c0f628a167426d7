// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// An older client that changes one field changes only that field, and nothing that its version does not have.
func TestHubFieldsSurviveOlderWriter(t *testing.T) {
	t.Run("cluster", func(t *testing.T) {
		g := NewWithT(t)
		stored := &infrav1.VSphereCluster{
			Spec:   infrav1.VSphereClusterSpec{Server: "vc", Distribution: faultlinev1.Distribution{FailureDomains: []faultlinev1.FailureDomainIntent{{Name: "a"}}}},
			Status: infrav1.VSphereClusterStatus{Distribution: faultlinev1.DistributionStatus{FailureDomains: []faultlinev1.DomainStatus{{Name: "a"}}}},
		}
		older, got := &v1beta1.VSphereCluster{}, &infrav1.VSphereCluster{}
		from, to := conversion.Keeping(clusterFromHub, clusterToHub)
		g.Expect(from(t.Context(), stored.DeepCopy(), older)).To(Succeed())
		older.Spec.Server, older.Spec.DisableClusterModule, older.Status.Ready = "other", ptr.To(true), ptr.To(true)
		g.Expect(to(t.Context(), older, got)).To(Succeed())
		stored.Spec.Server, stored.Spec.DisableClusterModule, stored.Status.Initialization.Provisioned = "other", ptr.To(true), ptr.To(true)
		got.Annotations = nil
		g.Expect(got).To(Equal(stored))
	})
	t.Run("template of a cluster", func(t *testing.T) {
		g := NewWithT(t)
		stored := &infrav1.VSphereClusterTemplate{}
		stored.Spec.Template.ObjectMeta.Labels = map[string]string{"team": "a"}
		older, got := &v1beta1.VSphereClusterTemplate{}, &infrav1.VSphereClusterTemplate{}
		from, to := conversion.Keeping(clusterTemplateFromHub, clusterTemplateToHub)
		g.Expect(from(t.Context(), stored.DeepCopy(), older)).To(Succeed())
		older.Spec.Template.Spec.Server = "vc"
		g.Expect(to(t.Context(), older, got)).To(Succeed())
		g.Expect(got.Spec.Template.ObjectMeta).To(Equal(stored.Spec.Template.ObjectMeta))
	})
	t.Run("virtual machine", func(t *testing.T) {
		g := NewWithT(t)
		stored := &infrav1.VSphereVM{
			Spec: infrav1.VSphereVMSpec{
				Placement: infrav1.VSphereVMPlacement{FailureDomain: "a"},
				VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
					Template: "t", NumCoresPerSocket: ptr.To[int32](0),
					Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(false)}}},
				},
			},
			Status: infrav1.VSphereVMStatus{FailureDomain: ptr.To("a"), TaskRef: "task-1", TaskOperation: infrav1.CloneOperation, TemplateRef: "vm-7"},
		}
		older, got := &v1beta1.VSphereVM{}, &infrav1.VSphereVM{}
		from, to := conversion.Keeping(vmFromHub, vmToHub)
		g.Expect(from(t.Context(), stored.DeepCopy(), older)).To(Succeed())
		older.Spec.PowerOffMode = infrav1.VirtualMachinePowerOpModeHard // set by the API server's defaulting
		older.Spec.Network.Devices[0].MACAddr, older.Status.Host = "00:50:56:00:00:01", "esx-1"
		g.Expect(to(t.Context(), older.DeepCopy(), got)).To(Succeed())
		stored.Spec.Network.Devices[0].MACAddr, stored.Status.Host = "00:50:56:00:00:01", "esx-1"
		got.Annotations = nil
		g.Expect(got).To(Equal(stored))

		older.Status.TaskRef = "task-2"
		g.Expect(to(t.Context(), older, got)).To(Succeed())
		g.Expect(got.Status.TaskOperation).To(BeEmpty(), "the purpose of another task is unknown")
	})
}

func TestStaleHubFieldsAreNotRestored(t *testing.T) {
	g := NewWithT(t)
	zone := &infrav1.VSphereDeploymentZone{
		Spec: infrav1.VSphereDeploymentZoneSpec{
			Server: "vc", Thumbprint: "AA", IdentityRef: &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "i"},
		},
		Status: infrav1.VSphereDeploymentZoneStatus{Ready: ptr.To(true), ObservedGeneration: 2, CheckedAt: metav1.Now().Rfc3339Copy(), CheckedBy: infrav1.ManagerAccount},
	}
	older, got := &v1beta1.VSphereDeploymentZone{}, &infrav1.VSphereDeploymentZone{}
	from, to := conversion.Keeping(zoneFromHub, zoneToHub)
	g.Expect(from(t.Context(), zone.DeepCopy(), older)).To(Succeed())
	older.Spec.Server, older.Status.Ready = "other", ptr.To(false)
	g.Expect(to(t.Context(), older, got)).To(Succeed())
	g.Expect(got.Spec).To(Equal(infrav1.VSphereDeploymentZoneSpec{Server: "other"}), "another vCenter has another certificate, and does not get the account")
	g.Expect(got.Status).To(Equal(infrav1.VSphereDeploymentZoneStatus{Ready: ptr.To(false), CheckedBy: infrav1.ManagerAccount}))

	domain := &infrav1.VSphereFailureDomain{Spec: infrav1.VSphereFailureDomainSpec{Topology: infrav1.Topology{
		Datacenter: "dc-1", Template: "/dc-1/vm/template", Hosts: infrav1.FailureDomainHosts{VMGroupName: "v", HostGroupName: "h", Rule: infrav1.MustRule, HostNames: []string{"host"}},
	}}}
	olderDomain, gotDomain := &v1beta1.VSphereFailureDomain{}, &infrav1.VSphereFailureDomain{}
	fromDomain, toDomain := conversion.Keeping(domainFromHub, domainToHub)
	g.Expect(fromDomain(t.Context(), domain.DeepCopy(), olderDomain)).To(Succeed())
	olderDomain.Spec.Topology.Datacenter, olderDomain.Spec.Topology.Hosts.HostGroupName = "dc-2", "other"
	g.Expect(toDomain(t.Context(), olderDomain, gotDomain)).To(Succeed())
	g.Expect(gotDomain.Spec.Topology).To(Equal(infrav1.Topology{
		Datacenter: "dc-2", Hosts: infrav1.FailureDomainHosts{VMGroupName: "v", HostGroupName: "other"},
	}))
}

func TestOlderWriterKeepsCredentialRestrictions(t *testing.T) {
	g := NewWithT(t)
	identity := &infrav1.VSphereClusterIdentity{Spec: infrav1.VSphereClusterIdentitySpec{SecretName: "s", Servers: []string{"vc"}}}
	older, got := &v1beta1.VSphereClusterIdentity{}, &infrav1.VSphereClusterIdentity{}
	from, to := conversion.Keeping(identityFromHub, identityToHub)
	g.Expect(from(t.Context(), identity.DeepCopy(), older)).To(Succeed())
	older.Spec.SecretName = "other"
	g.Expect(to(t.Context(), older, got)).To(Succeed())
	g.Expect(got.Spec).To(Equal(infrav1.VSphereClusterIdentitySpec{SecretName: "other", Servers: []string{"vc"}}))
}

func TestEditedConversionAnnotation(t *testing.T) {
	rulestest.SurvivesBadAnnotations(t, &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: "vc"}},
		func(annotations map[string]string) (*infrav1.VSphereCluster, error) {
			got := &infrav1.VSphereCluster{}
			_, to := conversion.Keeping(clusterFromHub, clusterToHub)
			err := to(t.Context(), &v1beta1.VSphereCluster{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: v1beta1.VSphereClusterSpec{Server: "vc"},
			}, got)
			return got, err
		})
	rulestest.SurvivesBadAnnotations(t, &infrav1.VSphereVM{Spec: infrav1.VSphereVMSpec{BiosUUID: "1"}},
		func(annotations map[string]string) (*infrav1.VSphereVM, error) {
			got := &infrav1.VSphereVM{}
			_, to := conversion.Keeping(vmFromHub, vmToHub)
			err := to(t.Context(), &v1beta1.VSphereVM{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: v1beta1.VSphereVMSpec{BiosUUID: "1"},
			}, got)
			return got, err
		})

	g := NewWithT(t)
	older := &v1beta1.VSphereMachine{Spec: v1beta1.VSphereMachineSpec{ProviderID: ptr.To("vsphere://1")}}
	older.Annotations = map[string]string{utilconversion.DataAnnotation: `{"spec":{"providerID":"vsphere://2","numCPUs":64,"template":"other"},"status":{"addresses":[{"address":"10.0.0.1"}]}}`}
	got := &infrav1.VSphereMachine{}
	_, toMachine := conversion.Keeping(machineFromHub, machineToHub)
	g.Expect(toMachine(t.Context(), older, got)).To(Succeed())
	g.Expect(got).To(Equal(&infrav1.VSphereMachine{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}, Spec: infrav1.VSphereMachineSpec{ProviderID: "vsphere://1"},
	}), "what v1beta1 has is never taken from the annotation")
}

func TestFieldsWithDifferentNames(t *testing.T) {
	g := NewWithT(t)
	got := &infrav1.VSphereVM{}
	from, to := conversion.Keeping(vmFromHub, vmToHub)
	g.Expect(to(t.Context(), &v1beta1.VSphereVM{Spec: v1beta1.VSphereVMSpec{
		GuestSoftPowerOffTimeout: &metav1.Duration{Duration: 1500 * time.Millisecond},
		BootstrapRef:             &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "data"},
		VirtualMachineCloneSpec:  v1beta1.VirtualMachineCloneSpec{Network: v1beta1.NetworkSpec{Routes: []v1beta1.NetworkRouteSpec{{To: "10.0.0.0/8", Via: "10.0.0.1"}}}},
	}}, got)).To(Succeed())
	g.Expect(got.Spec.GuestSoftPowerOffTimeoutSeconds).To(BeEquivalentTo(2), "a part of a second is waited for, too")
	g.Expect(got.Spec.BootstrapRef.Name).To(Equal("data"))
	g.Expect(got.Spec.Network.Routes[0].Metric).To(HaveValue(BeZero()), "it is required")

	older := &v1beta1.VSphereVM{}
	got.Namespace = "ns"
	g.Expect(from(t.Context(), got, older)).To(Succeed())
	g.Expect(older.Spec.BootstrapRef).To(Equal(&corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "ns", Name: "data"}))

	cluster := &v1beta1.VSphereCluster{}
	fromCluster, _ := conversion.Keeping(clusterFromHub, clusterToHub)
	g.Expect(fromCluster(t.Context(), &infrav1.VSphereCluster{Status: infrav1.VSphereClusterStatus{
		Initialization: infrav1.VSphereClusterInitializationStatus{Provisioned: ptr.To(true)},
		Conditions:     []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		FailureDomains: []clusterv1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true), Attributes: map[string]string{"region": "r"}}},
	}}, cluster)).To(Succeed())
	g.Expect(cluster.Status.Ready).To(HaveValue(BeTrue()))
	g.Expect(cluster.Status.FailureDomains["a"].ControlPlane).To(BeTrue())
	g.Expect(cluster.Status.FailureDomains["a"].Attributes).To(HaveKeyWithValue("region", "r"))
	g.Expect(cluster.Status.Conditions).To(BeEmpty())
	g.Expect(cluster.Status.V1Beta2.Conditions).To(HaveLen(1))
}
