// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// A machine waits for missing objects on Harvester. A new storage class enqueues it; the other kinds are polled.
func TestMachineWaitsForReferencedObjects(t *testing.T) {
	t.Parallel()
	volumes := func(volume infrav1.Volume) func(*infrav1.HarvesterMachine) {
		return func(infra *infrav1.HarvesterMachine) { infra.Spec.Volumes = append(infra.Spec.Volumes, volume) }
	}
	for name, tc := range map[string]struct {
		change   func(*infrav1.HarvesterMachine)
		reason   string
		messages []string
		comes    func(w *fixture) client.Object
	}{
		"an image": {
			change: volumes(infrav1.Volume{VolumeType: infrav1.VolumeTypeImage, ImageName: "later", VolumeSize: ptr.To(tenGi())}),
			reason: infrav1.ImageNotFoundReason, messages: []string{"spec.volumes[1].imageName", "display name later: create it"},
			comes: func(w *fixture) client.Object {
				return &harvesterhciv1.VirtualMachineImage{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "image-x"}, Spec: harvesterhciv1.VirtualMachineImageSpec{DisplayName: "later"},
				}
			},
		},
		"a network": {
			change: func(infra *infrav1.HarvesterMachine) { infra.Spec.Networks = []string{"later"} },
			reason: infrav1.NetworkNotFoundReason, messages: []string{"spec.networks", "/later (NetworkAttachmentDefinition) does not exist"},
			comes: func(w *fixture) client.Object {
				return &netattv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "later"}, Spec: netattv1.NetworkAttachmentDefinitionSpec{
					Config: `{"cniVersion":"0.3.1","name":"later","type":"bridge","bridge":"mgmt-br","vlan":7,"ipam":{}}`,
				}}
			},
		},
		"a key": {
			change: func(infra *infrav1.HarvesterMachine) { infra.Spec.SSHKeyPair = "later" },
			reason: infrav1.KeyPairNotFoundReason, messages: []string{"spec.sshKeyPair", "does not exist in Harvester: create it"},
			comes: func(w *fixture) client.Object {
				return &harvesterhciv1.KeyPair{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "later"}, Spec: harvesterhciv1.KeyPairSpec{PublicKey: "ssh-ed25519 AAAA me"}}
			},
		},
		"a storage class": {
			change: volumes(infrav1.Volume{VolumeType: infrav1.VolumeTypeStorageClass, StorageClass: "later", VolumeSize: ptr.To(tenGi())}),
			reason: infrav1.StorageClassNotFoundReason, messages: []string{"spec.volumes[1].storageClass", `"later" does not exist in Harvester`},
			comes: func(*fixture) client.Object {
				return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Provisioner: "driver.longhorn.io"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.start()
			infra := w.machine("a", "zone-1", tc.change)
			message := w.waitForReason(infra, infrav1.MachineCreatedCondition, tc.reason)
			for _, text := range tc.messages {
				w.Expect(message).To(ContainSubstring(text))
			}
			w.Expect(w.latest(infra).Finalizers).To(BeEmpty())
			w.Expect(w.harvester.Create(t.Context(), tc.comes(w))).To(Succeed())
			w.waitForProvisioned(infra)
		})
	}
}

func TestInvalidSpecIsReportedByField(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, name := range []string{"image-1", "image-2"} {
		w.Expect(w.harvester.Create(t.Context(), &harvesterhciv1.VirtualMachineImage{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}, Spec: harvesterhciv1.VirtualMachineImageSpec{DisplayName: "twice"},
		})).To(Succeed())
	}
	w.start()
	for name, tc := range map[string]struct {
		change           func(*infrav1.HarvesterMachineSpec)
		reason, messages string
	}{
		"twice": {func(s *infrav1.HarvesterMachineSpec) { s.Volumes[0].ImageName = "twice" }, infrav1.ImageAmbiguousReason,
			"name one of them by its own name (image-1, image-2)"},
		"slashes": {func(s *infrav1.HarvesterMachineSpec) { s.SSHKeyPair = "a/b/c" }, infrav1.MachineSpecInvalidReason,
			`spec.sshKeyPair: "a/b/c" is neither namespace/name nor a name`},
		"percent": {func(s *infrav1.HarvesterMachineSpec) { s.Networks = []string{"50%"} }, infrav1.NetworkNotFoundReason,
			"/50% (NetworkAttachmentDefinition) does not exist"},
		"dots": {func(s *infrav1.HarvesterMachineSpec) { s.SSHKeyPair = ".." }, infrav1.KeyPairNotFoundReason, "does not exist in Harvester: create it"},
		"none": {func(s *infrav1.HarvesterMachineSpec) { s.Networks = nil }, infrav1.NetworkMissingReason, "name a network in the template"},
		"size": {func(s *infrav1.HarvesterMachineSpec) {
			s.Volumes = []infrav1.Volume{{VolumeType: infrav1.VolumeTypeStorageClass, StorageClass: "harvester-longhorn"}}
		}, infrav1.MachineSpecInvalidReason, "an empty volume must have a volumeSize"},
		"memory": {func(s *infrav1.HarvesterMachineSpec) { s.Memory = "lots" }, infrav1.MachineSpecInvalidReason, `spec.memory "lots" must be a quantity`},
		"address": {func(s *infrav1.HarvesterMachineSpec) {
			s.NetworkConfig = &infrav1.NetworkConfig{Address: "five", Gateway: "10.0.0.1"}
		}, infrav1.MachineSpecInvalidReason, `spec.networkConfig.address: "five" must be an IP address`},
		"affinity": {func(s *infrav1.HarvesterMachineSpec) {
			s.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "gpu", Operator: corev1.NodeSelectorOpExists}},
			}}}}
		}, infrav1.AffinityImpossibleReason, "spec.nodeAffinity"},
	} {
		infra := w.machine(name, "zone-1", func(infra *infrav1.HarvesterMachine) { tc.change(&infra.Spec) })
		w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, tc.reason)).To(ContainSubstring(tc.messages), name)
	}
}

func TestVolumeSizeDefaultsToImageSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.Volumes[0].VolumeSize = nil })
	w.waitForProvisioned(infra)
	w.Expect(w.claims()[0].Spec.Resources.Requests.Storage().Value()).To(BeEquivalentTo(1 << 31))
}

func TestNetworksAndStorageClassOfFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(infra *infrav1.HarvesterCluster) {
		infra.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{
			{Name: "zone-1", Networks: []string{"default/vlan-2"}, StorageClass: "harvester-longhorn"}, {Name: "zone-2"},
		}
	})
	w.start()
	both := func(infra *infrav1.HarvesterMachine) {
		infra.Spec.Volumes = append(infra.Spec.Volumes, infrav1.Volume{VolumeType: infrav1.VolumeTypeStorageClass, StorageClass: "missing", VolumeSize: ptr.To(tenGi())})
	}
	infra := w.machine("a", "zone-1", both)
	w.waitForProvisioned(infra)
	w.Expect(w.vm(infra).Spec.Template.Spec.Networks[0].Multus.NetworkName).To(Equal("default/vlan-2"))
	for _, claim := range w.claims() {
		if claim.Name[len(claim.Name)-7] == '1' {
			w.Expect(*claim.Spec.StorageClassName).To(Equal("harvester-longhorn"))
		}
	}
	w.waitForReason(w.machine("b", "zone-2", both), infrav1.MachineCreatedCondition, infrav1.StorageClassNotFoundReason)
}

func TestMachineWaitsForBootstrapData(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	machine := &clusterv1.Machine{}
	infra := w.machineNamed(w.name+"-a", "zone-1")
	machine.Namespace, machine.Name = w.name, infra.Name
	integration.Update(w.user(), machine, integration.Whole, func(machine *clusterv1.Machine) {
		machine.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: "c"}}
	})
	w.start()
	w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.WaitingForBootstrapDataReason)
	integration.Update(w.user(), machine, integration.Whole, func(machine *clusterv1.Machine) {
		machine.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap")
	})
	w.waitForProvisioned(infra)
}
