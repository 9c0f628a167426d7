// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

const machineID = "0a1b2c3d-0000-4000-8000-000000000001"

func input() virtualmachine.Input {
	return virtualmachine.Input{
		Machine: &infrav1.HarvesterMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m1"},
			Spec:       infrav1.HarvesterMachineSpec{CPU: 4, Memory: "8Gi", SSHUser: "ubuntu"},
		},
		ID: machineID, Cluster: "c1", Namespace: "default",
		Volumes: []virtualmachine.Volume{
			{StorageClass: "lh-1", Image: "default/image-1", Size: resource.MustParse("40Gi"), BootOrder: 1},
			{StorageClass: "fast", Size: resource.MustParse("10Gi"), AccessMode: corev1.ReadWriteOnce},
		},
		Networks: []string{"default/vlan1", "other/vlan2"}, KeyPair: "default/key", PublicKey: "ssh-ed25519 AAAA me\n",
		Bootstrap: virtualmachine.Bootstrap{Data: []byte("#cloud-config\nruncmd:\n- kubeadm init\n")},
		Labels:    map[string]string{"in": "group"},
		Affinity:  &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
	}
}

func build(t *testing.T, in virtualmachine.Input) (*kubevirtv1.VirtualMachine, *corev1.Secret) {
	t.Helper()
	vm, secret, err := virtualmachine.Build(in)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return vm, secret
}

func TestBuild(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	vm, secret := build(t, input())
	identity := And(HaveKeyWithValue(infrav1.MachineIDLabel, machineID), HaveKeyWithValue(clusterv1.ClusterNameLabel, "c1"))
	g.Expect(vm.Labels).To(And(identity, HaveKeyWithValue("harvesterhci.io/creator", "harvester")))
	g.Expect(vm.Annotations).To(And(HaveKeyWithValue(infrav1.OwnerAnnotation, "ns/m1"), HaveKeyWithValue("networks.harvesterhci.io/ips", "[]")))
	g.Expect(secret.Labels).To(identity)
	g.Expect(secret.Name).To(Equal("m1-cloud-init"))

	// The instance and its pod get the labels of the template.
	template := vm.Spec.Template
	g.Expect(template.ObjectMeta.Labels).To(And(identity,
		HaveKeyWithValue("harvesterhci.io/vmName", "m1"), HaveKeyWithValue("harvesterhci.io/vmNamePrefix", "m1"), HaveKeyWithValue("in", "group"),
		HaveKeyWithValue("guestcluster.harvesterhci.io/name", "c1"),
		Not(HaveKey("harvestercluster/machinetype"))))
	g.Expect(template.ObjectMeta.Annotations).To(And(
		HaveKeyWithValue(infrav1.OwnerAnnotation, "ns/m1"), HaveKeyWithValue("harvesterhci.io/sshNames", `["default/key"]`),
		HaveKeyWithValue("harvesterhci.io/diskNames", `["m1-disk-0-0a1b2","m1-disk-1-0a1b2"]`)))

	g.Expect(*vm.Spec.RunStrategy).To(Equal(kubevirtv1.RunStrategyAlways))
	spec := template.Spec
	g.Expect(spec.Hostname).To(Equal("m1"))
	g.Expect(*spec.EvictionStrategy).To(Equal(kubevirtv1.EvictionStrategyLiveMigrateIfPossible))
	g.Expect(spec.Affinity).NotTo(BeNil())
	g.Expect(spec.Domain.CPU.Cores).To(BeEquivalentTo(4))
	g.Expect(spec.Domain.Memory.Guest.String()).To(Equal("8Gi"))
	g.Expect(spec.Domain.Resources.Limits.Cpu().String()).To(Equal("4"))
	g.Expect(spec.Domain.Resources.Limits.Memory().String()).To(Equal("8Gi"))
	g.Expect(spec.Domain.Firmware).To(BeNil())
	g.Expect(spec.Domain.Devices.TPM).To(BeNil())
}

func TestControlPlaneLabelsMatchUpstream(t *testing.T) {
	t.Parallel()
	in := input()
	in.ControlPlane = true
	vm, _ := build(t, in)
	NewWithT(t).Expect(vm.Spec.Template.ObjectMeta.Labels).To(HaveKeyWithValue("harvestercluster/machinetype", "controlplane-c1"))
}

func TestClaimsHaveIDOfMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	vm, _ := build(t, input())
	var claims []corev1.PersistentVolumeClaim
	g.Expect(json.Unmarshal([]byte(vm.Annotations["harvesterhci.io/volumeClaimTemplates"]), &claims)).To(Succeed())
	g.Expect(claims).To(HaveLen(2))
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce}
	for i, claim := range claims {
		g.Expect(claim.Name).To(Equal([]string{"m1-disk-0-0a1b2", "m1-disk-1-0a1b2"}[i]))
		g.Expect(claim.Labels).To(HaveKeyWithValue(infrav1.MachineIDLabel, machineID))
		g.Expect(claim.Spec.AccessModes).To(Equal([]corev1.PersistentVolumeAccessMode{modes[i]}))
		g.Expect(*claim.Spec.VolumeMode).To(Equal(corev1.PersistentVolumeBlock))
		g.Expect(*claim.Spec.StorageClassName).To(Equal([]string{"lh-1", "fast"}[i]))
	}
	g.Expect(claims[0].Annotations).To(HaveKeyWithValue("harvesterhci.io/imageId", "default/image-1"))
	g.Expect(claims[1].Annotations).NotTo(HaveKey("harvesterhci.io/imageId"))
	g.Expect(claims[0].Spec.Resources.Requests.Storage().String()).To(Equal("40Gi"))

	spec := vm.Spec.Template.Spec
	g.Expect(spec.Volumes).To(HaveLen(3))
	g.Expect(spec.Volumes[0].PersistentVolumeClaim.ClaimName).To(Equal("m1-disk-0-0a1b2"))
	g.Expect(spec.Domain.Devices.Disks[0].BootOrder).To(gstruct.PointTo(BeEquivalentTo(1)))
	g.Expect(spec.Domain.Devices.Disks[1].BootOrder).To(BeNil())
	g.Expect(spec.Volumes[2].CloudInitNoCloud.UserDataSecretRef.Name).To(Equal("m1-cloud-init"))
}

func TestMACAddressesAreStable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	vm, secret := build(t, input())
	again, _ := build(t, input())
	g.Expect(again).To(Equal(vm))
	spec := vm.Spec.Template.Spec
	g.Expect(spec.Networks).To(HaveLen(2))
	g.Expect(spec.Networks[1].Name).To(Equal("nic-2"))
	g.Expect(spec.Networks[1].Multus.NetworkName).To(Equal("other/vlan2"))
	macs := []string{}
	for _, nic := range spec.Domain.Devices.Interfaces {
		g.Expect(nic.Bridge).NotTo(BeNil())
		g.Expect(nic.Model).To(Equal("virtio"))
		g.Expect(nic.MacAddress).To(MatchRegexp("^02(:[0-9a-f]{2}){5}$"))
		macs = append(macs, nic.MacAddress)
	}
	g.Expect(macs[0]).NotTo(Equal(macs[1]))
	var data map[string]any
	g.Expect(yaml.Unmarshal(secret.Data["networkdata"], &data)).To(Succeed())
	g.Expect(data["version"]).To(BeEquivalentTo(1))
	config := data["config"].([]any)
	g.Expect(config).To(HaveLen(2))
	g.Expect(config[1]).To(Equal(map[string]any{
		"type": "physical", "name": "eth1", "mac_address": macs[1], "subnets": []any{map[string]any{"type": "dhcp"}},
	}))
}

func TestNoNetworkDataForSingleInterfaceWithDHCP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.Networks = in.Networks[:1]
	vm, secret := build(t, in)
	g.Expect(secret.Data).NotTo(HaveKey("networkdata"))
	g.Expect(vm.Spec.Template.Spec.Volumes[2].CloudInitNoCloud.NetworkDataSecretRef).To(BeNil())
}

func TestStaticAddressIsOnFirstInterface(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.Static = &virtualmachine.Static{
		Address: netip.MustParsePrefix("172.16.3.40/16"), Gateway: netip.MustParseAddr("172.16.0.1"),
		DNSServers: []string{"172.16.0.2"}, DNSSearch: []string{"example.org"},
	}
	vm, secret := build(t, in)
	var data struct{ Config []map[string]any }
	g.Expect(yaml.Unmarshal(secret.Data["networkdata"], &data)).To(Succeed())
	g.Expect(data.Config).To(HaveLen(3))
	g.Expect(data.Config[0]["subnets"]).To(Equal([]any{map[string]any{"type": "static", "address": "172.16.3.40/16", "gateway": "172.16.0.1"}}))
	g.Expect(data.Config[2]).To(Equal(map[string]any{"type": "nameserver", "address": []any{"172.16.0.2"}, "search": []any{"example.org"}}))
	g.Expect(vm.Spec.Template.Spec.Volumes[2].CloudInitNoCloud.NetworkDataSecretRef.Name).To(Equal("m1-cloud-init"))
}

func TestFirmwareAndTPM(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		firmware *infrav1.Firmware
		tpm      *infrav1.TPM
		secure   *bool
		smm      bool
		tpmKept  *bool
	}{
		"BIOS":             {firmware: &infrav1.Firmware{}, tpm: &infrav1.TPM{Persistent: true}},
		"UEFI":             {firmware: &infrav1.Firmware{EFI: true}, secure: ptr.To(false)},
		"secure boot":      {firmware: &infrav1.Firmware{EFI: true, SecureBoot: true}, secure: ptr.To(true), smm: true},
		"a TPM":            {tpm: &infrav1.TPM{Enabled: true}, tpmKept: ptr.To(false)},
		"a TPM that stays": {tpm: &infrav1.TPM{Enabled: true, Persistent: true}, tpmKept: ptr.To(true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := input()
			in.Machine.Spec.Firmware, in.Machine.Spec.TPM = tc.firmware, tc.tpm
			vm, _ := build(t, in)
			domain := vm.Spec.Template.Spec.Domain
			if tc.secure == nil {
				g.Expect(domain.Firmware).To(BeNil())
			} else {
				g.Expect(domain.Firmware.Bootloader.EFI.SecureBoot).To(Equal(tc.secure))
			}
			g.Expect(domain.Features != nil && domain.Features.SMM != nil).To(Equal(tc.smm))
			if tc.tpmKept == nil {
				g.Expect(domain.Devices.TPM).To(BeNil())
			} else {
				g.Expect(domain.Devices.TPM.Persistent).To(Equal(tc.tpmKept))
			}
		})
	}
}

func TestInvalidMemoryIsRejected(t *testing.T) {
	t.Parallel()
	in := input()
	in.Machine.Spec.Memory = "lots"
	_, _, err := virtualmachine.Build(in)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`spec.memory "lots" must be a quantity, for example 8Gi`)))
}

// Upstream adds the failure domain's affinity to the user's affinity and stores it.
func TestF6BuildDoesNotModifyMachine(t *testing.T) {
	t.Parallel()
	in := input()
	in.Machine.Spec.NodeAffinity = &corev1.NodeAffinity{}
	before := in.Machine.DeepCopy()
	build(t, in)
	NewWithT(t).Expect(in.Machine).To(Equal(before))
}

func TestBelongsTo(t *testing.T) {
	t.Parallel()
	const me, another = "ns/m1", "ns/m2"
	machine := &infrav1.HarvesterMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m1", Annotations: map[string]string{infrav1.MachineIDAnnotation: machineID}},
		Spec:       infrav1.HarvesterMachineSpec{ProviderID: "harvester://uid-1"},
	}
	for name, tc := range map[string]struct {
		uid, id, owner string
		ours, unmarked bool
	}{
		"its id, and its owner":              {uid: "uid-2", id: machineID, owner: me, ours: true},
		"its id, and another owner: a copy":  {uid: "uid-2", id: machineID, owner: another},
		"its id, and no owner: a clone":      {uid: "uid-2", id: machineID},
		"no id":                              {uid: "uid-2"},
		"another id":                         {uid: "uid-2", id: "other", owner: another},
		"the UID, and no id":                 {uid: "uid-1", ours: true, unmarked: true},
		"the UID, and an id that it has had": {uid: "uid-1", id: "other", owner: me, ours: true, unmarked: true},
		"the UID, and another's id":          {uid: "uid-1", id: "other", owner: another},
		"the UID, and another id":            {uid: "uid-1", id: "other"},
		"the UID, its id, and no owner":      {uid: "uid-1", id: machineID, ours: true, unmarked: true},
		"not stored yet":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			vm := &kubevirtv1.VirtualMachine{}
			vm.UID = types.UID(tc.uid)
			if tc.id != "" {
				vm.Labels = map[string]string{infrav1.MachineIDLabel: tc.id}
			}
			if tc.owner != "" {
				vm.Annotations = map[string]string{infrav1.OwnerAnnotation: tc.owner}
			}
			g.Expect(virtualmachine.BelongsTo(vm, machine)).To(Equal(tc.ours))
			g.Expect(virtualmachine.Unmarked(vm, machine)).To(Equal(tc.unmarked))
			g.Expect(virtualmachine.BelongsTo(vm, &infrav1.HarvesterMachine{})).To(BeFalse())
		})
	}
}
