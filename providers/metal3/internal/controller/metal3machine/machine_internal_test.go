// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func newScope() *scope {
	s := &scope{infra: &infrav1.Metal3Machine{}, machine: &clusterv1.Machine{}, host: &bmov1alpha1.BareMetalHost{}}
	s.infra.Namespace, s.infra.Name = "ns", "m"
	s.host.Namespace, s.host.Name, s.host.UID = "ns", "host", "uid"
	return s
}

func node(name, providerID string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func TestNodeAmong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes  []corev1.Node
		node   string
		reason string
	}{
		"none":                                 {nil, "", infrav1.Metal3MachineWaitingForNodeReason},
		"fresh":                                {[]corev1.Node{node("a", "")}, "a", ""},
		"providerID":                           {[]corev1.Node{node("a", "metal3://ns/host/m")}, "a", ""},
		"providerID of long ago":               {[]corev1.Node{node("a", "metal3://uid")}, "a", ""},
		"providerID, and a fresh one":          {[]corev1.Node{node("a", ""), node("b", "metal3://ns/host/m")}, "b", ""},
		"left by the machine before":           {[]corev1.Node{node("a", "metal3://ns/host/before")}, "", infrav1.Metal3MachineWaitingForNodeReason},
		"fresh, and one left before":           {[]corev1.Node{node("a", "metal3://ns/host/before"), node("b", "")}, "b", ""},
		"two fresh ones":                       {[]corev1.Node{node("a", ""), node("b", "")}, "", infrav1.Metal3MachineAmbiguousNodeReason},
		"another provider's":                   {[]corev1.Node{node("a", "vsphere://1")}, "", infrav1.Metal3MachineUnexpectedProviderIDReason},
		"another host's":                       {[]corev1.Node{node("a", "metal3://ns/host-2/m")}, "", infrav1.Metal3MachineUnexpectedProviderIDReason},
		"fresh, and another provider's":        {[]corev1.Node{node("a", "vsphere://1"), node("b", "")}, "b", ""},
		"providerID, found both ways in a row": {[]corev1.Node{node("a", "metal3://ns/host/m"), node("a", "metal3://ns/host/m")}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			found, waiting := newScope().nodeAmong(tc.nodes)
			g.Expect(waiting.reason).To(Equal(tc.reason))
			if tc.node == "" {
				g.Expect(found).To(BeNil())
			} else {
				g.Expect(found.Name).To(Equal(tc.node))
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newScope()
	s.machine.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap")
	s.infra.Spec.UserData = &corev1.SecretReference{Name: "own"}
	s.infra.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
	s.infra.Spec.AutomatedCleaningMode = infrav1.CleaningModeDisabled
	s.infra.Spec.Image = infrav1.Image{
		URL: "http://image", Checksum: "abc", ChecksumType: ptr.To(infrav1.ChecksumType("sha256")), DiskFormat: ptr.To(infrav1.DiskFormatLiveISO),
	}
	s.useGivenSecrets()
	config := s.config()
	g.Expect(config.UserData).To(HaveValue(Equal(corev1.SecretReference{Namespace: "ns", Name: "bootstrap"})), "bootstrap data goes first")
	g.Expect(config.MetaData.Name).To(Equal("meta"))
	g.Expect(config.NetworkData).To(BeNil())
	g.Expect(config.Image).To(HaveValue(Equal(bmov1alpha1.Image{URL: "http://image", Checksum: "abc", ChecksumType: "sha256", DiskFormat: ptr.To("live-iso")})))
	g.Expect(config.CustomDeploy).To(BeNil())
	g.Expect(config.CleaningMode).To(Equal(bmov1alpha1.CleaningModeDisabled))

	s.infra.Spec.Image, s.infra.Spec.CustomDeploy = infrav1.Image{}, infrav1.CustomDeploy{Method: "install_coreos"}
	g.Expect(s.config().Image).To(BeNil())
	g.Expect(s.config().CustomDeploy).To(HaveValue(Equal(bmov1alpha1.CustomDeploy{Method: "install_coreos"})))
}

func TestReuse(t *testing.T) {
	t.Parallel()
	controller := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
	for name, tc := range map[string]struct {
		machine *clusterv1.Machine
		want    string
	}{
		"no machine": {nil, ""},
		"control plane": {&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}, OwnerReferences: controller("KubeadmControlPlane", "kcp"),
		}}, "cp-kcp"},
		"control plane without an owner": {&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}}}, ""},
		"worker": {&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "workers"}, OwnerReferences: controller("MachineSet", "workers-x"),
		}}, "md-workers"},
		"single machine": {&clusterv1.Machine{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScope()
			s.machine = tc.machine
			NewWithT(t).Expect(s.reuse()).To(Equal(tc.want))
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	host := &bmov1alpha1.BareMetalHost{}
	g.Expect(addresses(host)).To(BeEmpty(), "not inspected")
	host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{Hostname: "node-1", NIC: []bmov1alpha1.NIC{{Name: "eno1", IP: "10.0.0.1"}, {Name: "eno2"}}}
	g.Expect(addresses(host)).To(Equal([]clusterv1.MachineAddress{
		{Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"},
		{Type: clusterv1.MachineHostName, Address: "node-1"}, {Type: clusterv1.MachineInternalDNS, Address: "node-1"},
	}))
}
