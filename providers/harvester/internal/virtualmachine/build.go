// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Keys of the Secret with a virtual machine's boot data, as KubeVirt defines them.
const (
	UserDataKey    = "userdata"
	NetworkDataKey = "networkdata"
)

// shutdownGraceSeconds is how many seconds a guest has to shut down before it is powered off.
const shutdownGraceSeconds = 120

// Input holds everything that a virtual machine is built from. The references of its HarvesterMachine are resolved.
type Input struct {
	Machine *infrav1.HarvesterMachine
	// ID is the machine's id: see infrav1.MachineIDAnnotation.
	ID string
	// Cluster is the name of the Cluster; Namespace is the namespace on Harvester.
	Cluster, Namespace string
	ControlPlane       bool
	// Labels and Affinity constrain the scheduling of the virtual machine.
	Labels   map[string]string
	Affinity *corev1.Affinity

	Volumes []Volume
	// Networks holds namespace/name of each network.
	Networks []string
	// KeyPair is the name of the key pair on Harvester, PublicKey the public key; both are "" without a key.
	KeyPair, PublicKey string
	Bootstrap          Bootstrap
	// Static is the machine's static address; nil for DHCP.
	Static *Static
}

// Volume is a resolved volume.
type Volume struct {
	StorageClass string
	// Image is namespace/name of the source image; "" for an empty volume.
	Image string
	Size  resource.Quantity
	// AccessMode is "" for ReadWriteMany.
	AccessMode corev1.PersistentVolumeAccessMode
	BootOrder  int
}

// SecretName returns the name of the Secret with a virtual machine's boot data.
func SecretName(vm string) string { return vm + "-cloud-init" }

// ClaimName returns the name of the claim for one of a virtual machine's volumes.
func ClaimName(vm, id string, volume int) string {
	return fmt.Sprintf("%s-disk-%d-%s", vm, volume, id[:min(5, len(id))])
}

// Build returns a virtual machine and the Secret with its boot data. It is deterministic.
func Build(in Input) (*kubevirtv1.VirtualMachine, *corev1.Secret, error) {
	secret, err := in.secret()
	if err != nil {
		return nil, nil, err
	}
	claims, err := in.claims()
	if err != nil {
		return nil, nil, err
	}
	template, err := in.template(secret)
	if err != nil {
		return nil, nil, err
	}
	always := kubevirtv1.RunStrategyAlways
	vm := &kubevirtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Namespace, Name: Name(in.Machine), Labels: maps.Clone(template.ObjectMeta.Labels),
			Annotations: map[string]string{
				infrav1.OwnerAnnotation:                ownerOf(in.Machine),
				infrav1.VolumeClaimTemplatesAnnotation: claims,
				infrav1.NetworkIPsAnnotation:           "[]",
			},
		},
		Spec: kubevirtv1.VirtualMachineSpec{RunStrategy: &always, Template: template},
	}
	return vm, secret, nil
}

// identity returns the labels that identify the machine's objects.
func (in *Input) identity() map[string]string {
	return map[string]string{infrav1.MachineIDLabel: in.ID, clusterv1.ClusterNameLabel: in.Cluster}
}

func (in *Input) owner() map[string]string {
	return map[string]string{infrav1.OwnerAnnotation: ownerOf(in.Machine)}
}

func (in *Input) secret() (*corev1.Secret, error) {
	user, err := userData(in.Bootstrap, in.PublicKey, in.Machine.Spec.SSHUser, "machine-"+in.ID)
	if err != nil {
		return nil, err
	}
	network, err := networkData(in.Static, macs(in.ID, len(in.Networks)))
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Namespace, Name: SecretName(Name(in.Machine)), Labels: in.identity(), Annotations: in.owner(),
		},
		Data: map[string][]byte{UserDataKey: user},
	}
	if network != nil {
		secret.Data[NetworkDataKey] = network
	}
	return secret, nil
}

func (in *Input) claimName(volume int) string { return ClaimName(Name(in.Machine), in.ID, volume) }

// claims returns the templates of the claims that Harvester creates for the volumes, as JSON.
func (in *Input) claims() (string, error) {
	block := corev1.PersistentVolumeBlock
	all := make([]corev1.PersistentVolumeClaim, len(in.Volumes))
	for i, volume := range in.Volumes {
		all[i] = corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: in.Namespace, Name: in.claimName(i), Labels: in.identity(), Annotations: in.owner(),
			},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{cmp.Or(volume.AccessMode, corev1.ReadWriteMany)}, VolumeMode: &block,
				StorageClassName: &volume.StorageClass,
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: volume.Size}},
			},
		}
		if volume.Image != "" {
			all[i].Annotations[infrav1.ImageIDAnnotation] = volume.Image
		}
	}
	return toJSON(all)
}

func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("describing a virtual machine: %w", err)
	}
	return string(text), nil
}

func (in *Input) template(secret *corev1.Secret) (*kubevirtv1.VirtualMachineInstanceTemplateSpec, error) {
	domain, err := in.domain()
	if err != nil {
		return nil, err
	}
	annotations, err := in.templateAnnotations()
	if err != nil {
		return nil, err
	}
	seconds, eviction := int64(shutdownGraceSeconds), kubevirtv1.EvictionStrategyLiveMigrateIfPossible
	template := &kubevirtv1.VirtualMachineInstanceTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: in.templateLabels(), Annotations: annotations},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{
			Hostname: Name(in.Machine), Affinity: in.Affinity, Domain: *domain,
			EvictionStrategy: &eviction, TerminationGracePeriodSeconds: &seconds,
		},
	}
	in.addVolumes(&template.Spec, secret)
	in.addNetworks(&template.Spec)
	return template, nil
}

// templateLabels returns the labels of the template and pod, which are also those of the virtual machine.
func (in *Input) templateLabels() map[string]string {
	labels := in.identity()
	maps.Copy(labels, in.Labels)
	labels[infrav1.CreatorLabel] = infrav1.Creator
	labels[infrav1.VMNameLabel] = Name(in.Machine)
	labels[infrav1.VMNamePrefixLabel] = Name(in.Machine)
	// Harvester's load balancer finds the network for the addresses of the cluster's load balancers by this label.
	labels[lbv1.MachineClusterLabel] = in.Cluster
	if in.ControlPlane {
		labels[infrav1.MachineTypeLabel] = infrav1.MachineTypeControlPlanePrefix + in.Cluster
	}
	return labels
}

func (in *Input) templateAnnotations() (map[string]string, error) {
	disks, keys := []string{}, []string{}
	for i := range in.Volumes {
		disks = append(disks, in.claimName(i))
	}
	if in.KeyPair != "" {
		keys = append(keys, in.KeyPair)
	}
	annotations := in.owner()
	annotations[infrav1.MachineTypeLabel] = infrav1.MachineTypeControlPlanePrefix + in.Cluster
	var err error
	if annotations[infrav1.DiskNamesAnnotation], err = toJSON(disks); err != nil {
		return nil, err
	}
	annotations[infrav1.SSHNamesAnnotation], err = toJSON(keys)
	return annotations, err
}

// domain returns the virtual hardware.
func (in *Input) domain() (*kubevirtv1.DomainSpec, error) {
	memory, err := resource.ParseQuantity(in.Machine.Spec.Memory)
	if err != nil {
		return nil, fmt.Errorf("spec.memory %q must be a quantity, for example 8Gi", in.Machine.Spec.Memory)
	}
	domain := &kubevirtv1.DomainSpec{
		CPU:    &kubevirtv1.CPU{Cores: in.Machine.Spec.CPU, Sockets: 1, Threads: 1},
		Memory: &kubevirtv1.Memory{Guest: &memory},
		Resources: kubevirtv1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: memory},
			Limits: corev1.ResourceList{
				corev1.ResourceMemory: memory, corev1.ResourceCPU: *resource.NewQuantity(int64(in.Machine.Spec.CPU), resource.DecimalSI),
			},
		},
		Devices: kubevirtv1.Devices{Inputs: []kubevirtv1.Input{{Name: "tablet", Bus: kubevirtv1.InputBusUSB, Type: kubevirtv1.InputTypeTablet}}},
	}
	in.addFirmware(domain)
	return domain, nil
}

func (in *Input) addFirmware(domain *kubevirtv1.DomainSpec) {
	if firmware := in.Machine.Spec.Firmware; firmware != nil && firmware.EFI {
		secure, on := firmware.SecureBoot, true // always set: KubeVirt defaults it to true
		domain.Firmware = &kubevirtv1.Firmware{Bootloader: &kubevirtv1.Bootloader{EFI: &kubevirtv1.EFI{SecureBoot: &secure}}}
		if secure {
			domain.Features = &kubevirtv1.Features{SMM: &kubevirtv1.FeatureState{Enabled: &on}}
		}
	}
	if tpm := in.Machine.Spec.TPM; tpm != nil && tpm.Enabled {
		persistent := tpm.Persistent
		domain.Devices.TPM = &kubevirtv1.TPMDevice{Persistent: &persistent}
	}
}

func (in *Input) addVolumes(spec *kubevirtv1.VirtualMachineInstanceSpec, secret *corev1.Secret) {
	for i, volume := range in.Volumes {
		name := fmt.Sprintf("disk-%d", i)
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: name, VolumeSource: kubevirtv1.VolumeSource{
			PersistentVolumeClaim: &kubevirtv1.PersistentVolumeClaimVolumeSource{PersistentVolumeClaimVolumeSource: corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: in.claimName(i),
			}},
		}})
		disk := virtioDisk(name)
		if volume.BootOrder > 0 {
			order := uint(volume.BootOrder)
			disk.BootOrder = &order
		}
		spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, disk)
	}
	const name = "cloudinitdisk"
	spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: name, VolumeSource: in.bootData(secret)})
	spec.Domain.Devices.Disks = append(spec.Domain.Devices.Disks, virtioDisk(name))
}

func virtioDisk(name string) kubevirtv1.Disk {
	return kubevirtv1.Disk{Name: name, DiskDevice: kubevirtv1.DiskDevice{Disk: &kubevirtv1.DiskTarget{Bus: kubevirtv1.DiskBusVirtio}}}
}

// bootData returns the volume that cloud-init or Ignition reads; Ignition expects a config drive.
func (in *Input) bootData(secret *corev1.Secret) kubevirtv1.VolumeSource {
	user := &corev1.LocalObjectReference{Name: secret.Name}
	var network *corev1.LocalObjectReference
	if _, ok := secret.Data[NetworkDataKey]; ok {
		network = user
	}
	if in.Bootstrap.Ignition {
		return kubevirtv1.VolumeSource{CloudInitConfigDrive: &kubevirtv1.CloudInitConfigDriveSource{UserDataSecretRef: user, NetworkDataSecretRef: network}}
	}
	return kubevirtv1.VolumeSource{CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{UserDataSecretRef: user, NetworkDataSecretRef: network}}
}

func (in *Input) addNetworks(spec *kubevirtv1.VirtualMachineInstanceSpec) {
	mac := macs(in.ID, len(in.Networks))
	for i, network := range in.Networks {
		name := networkName(i)
		spec.Networks = append(spec.Networks, kubevirtv1.Network{
			Name: name, NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: network}},
		})
		spec.Domain.Devices.Interfaces = append(spec.Domain.Devices.Interfaces, kubevirtv1.Interface{
			Name: name, Model: kubevirtv1.VirtIO, MacAddress: mac[i],
			InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}},
		})
	}
}

func networkName(i int) string { return fmt.Sprintf("nic-%d", i+1) }
