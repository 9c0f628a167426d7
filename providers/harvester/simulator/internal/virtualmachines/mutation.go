// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
)

const (
	// cpuOvercommit and memoryOvercommit are Harvester's defaults, in percent.
	cpuOvercommit, memoryOvercommit = 1600, 150
	// reservedMemory is reserved for QEMU.
	reservedMemory = "100Mi"
	cpuManager     = "cpumanager"
)

// clusterNetworks returns the cluster networks of a virtual machine's networks.
func (w *webhooks) clusterNetworks(ctx context.Context, namespace string, spec *kubevirtv1.VirtualMachineInstanceSpec) ([]string, error) {
	var found []string
	for _, network := range spec.Networks {
		if network.Multus == nil {
			continue
		}
		space, name, _ := strings.Cut(cluster.Qualified(namespace, network.Multus.NetworkName), "/")
		definition := &netattv1.NetworkAttachmentDefinition{}
		key := client.ObjectKey{Namespace: space, Name: name}
		err := w.client.Get(ctx, key, definition)
		if apierrors.IsNotFound(err) {
			err = w.live.Get(ctx, key, definition)
		}
		if err != nil {
			return nil, fmt.Errorf("reading network %s: %w", key, err)
		}
		if label := definition.Labels[netattv1.ClusterNetworkLabel]; label != "" && !slices.Contains(found, label) {
			found = append(found, label)
		}
	}
	return found, nil
}

// requireNetworks restricts a virtual machine to hosts with the cluster networks. Existing requirements on cluster networks and
// on the CPU manager are removed.
func requireNetworks(spec *kubevirtv1.VirtualMachineInstanceSpec, networks []string) {
	var terms []corev1.NodeSelectorTerm
	if selector := cluster.RequiredNodes(spec.Affinity); selector != nil {
		terms = selector.NodeSelectorTerms
	}
	var wanted []corev1.NodeSelectorRequirement
	for _, network := range networks {
		wanted = append(wanted, corev1.NodeSelectorRequirement{
			Key: netattv1.HostNetworkLabelPrefix + network, Operator: corev1.NodeSelectorOpIn, Values: []string{"true"},
		})
	}
	var out []corev1.NodeSelectorTerm
	for _, term := range terms {
		term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return strings.HasPrefix(r.Key, netattv1.HostNetworkLabelPrefix) || r.Key == cpuManager
		})
		if len(term.MatchExpressions) > 0 { // terms that have only fields are dropped
			term.MatchExpressions = append(term.MatchExpressions, wanted...)
			out = append(out, term)
		}
	}
	if len(out) == 0 && len(wanted) > 0 {
		out = []corev1.NodeSelectorTerm{{MatchExpressions: wanted}}
	}
	setRequiredNodes(spec, out)
}

func setRequiredNodes(spec *kubevirtv1.VirtualMachineInstanceSpec, terms []corev1.NodeSelectorTerm) {
	if len(terms) == 0 {
		if cluster.RequiredNodes(spec.Affinity) != nil {
			spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		return
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// overcommit reduces the requests of a virtual machine with limits, and the memory of its guest by the memory reserved for QEMU.
func overcommit(domain *kubevirtv1.DomainSpec) {
	limits := domain.Resources.Limits
	if len(limits) == 0 {
		return
	}
	if domain.Resources.Requests == nil {
		domain.Resources.Requests = corev1.ResourceList{}
	}
	if cpu, ok := limits[corev1.ResourceCPU]; ok {
		domain.Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpu.MilliValue()*100/cpuOvercommit, resource.DecimalSI)
	}
	if memory, ok := limits[corev1.ResourceMemory]; ok {
		domain.Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(memory.Value()*100/memoryOvercommit, resource.BinarySI)
		guest := memory.DeepCopy()
		guest.Sub(resource.MustParse(reservedMemory))
		if domain.Memory == nil {
			domain.Memory = &kubevirtv1.Memory{}
		}
		domain.Memory.Guest = &guest
	}
}

// setDefaults sets the defaults of virt-api.
func setDefaults(vm *kubevirtv1.VirtualMachine) {
	spec := &vm.Spec.Template.Spec
	spec.Architecture = cmp.Or(spec.Architecture, "amd64")
	domain := &spec.Domain
	if domain.Machine == nil {
		domain.Machine = &kubevirtv1.Machine{Type: "q35"}
	}
	if domain.Features == nil {
		domain.Features = &kubevirtv1.Features{}
	}
	if domain.Features.ACPI.Enabled == nil {
		domain.Features.ACPI.Enabled = ptr.To(true)
	}
	if domain.Firmware == nil {
		domain.Firmware = &kubevirtv1.Firmware{}
	}
	if domain.Firmware.UUID == "" {
		domain.Firmware.UUID = uuid.NewUUID()
	}
	domain.Firmware.Serial = cmp.Or(domain.Firmware.Serial, string(uuid.NewUUID()))
}

// keepRunStrategy restores the run strategy of a halted virtual machine when it is started, whatever the new value: the one
// recorded by Harvester, else RerunOnFailure.
func keepRunStrategy(req admission.Request, vm *kubevirtv1.VirtualMachine) error {
	if len(req.OldObject.Raw) == 0 {
		return nil
	}
	before := &kubevirtv1.VirtualMachine{}
	if err := json.Unmarshal(req.OldObject.Raw, before); err != nil {
		return fmt.Errorf("reading the virtual machine before: %w", err)
	}
	was, err := before.RunStrategy()
	if err != nil {
		return nil //nolint:nilerr // it is refused as it is now, if that is wrong
	}
	if is, err := vm.RunStrategy(); err != nil || was != kubevirtv1.RunStrategyHalted || is == was {
		return nil //nolint:nilerr // as above
	}
	kept := kubevirtv1.VirtualMachineRunStrategy(before.Annotations[RunStrategyAnnotation])
	vm.Spec.Running, vm.Spec.RunStrategy = nil, ptr.To(cmp.Or(kept, kubevirtv1.RunStrategyRerunOnFailure))
	return nil
}

// validate returns why KubeVirt rejects a virtual machine, or "".
func validate(vm *kubevirtv1.VirtualMachine) string {
	if vm.Spec.Template == nil {
		return "spec.template: missing virtual machine template"
	}
	if (vm.Spec.RunStrategy == nil) == (vm.Spec.Running == nil) {
		return "spec.running and spec.runStrategy: one of Running or RunStrategy must be specified"
	}
	spec := &vm.Spec.Template.Spec
	for i, disk := range spec.Domain.Devices.Disks {
		if !slices.ContainsFunc(spec.Volumes, func(v kubevirtv1.Volume) bool { return v.Name == disk.Name }) {
			return fmt.Sprintf("spec.template.spec.domain.devices.disks[%d].Name '%s' not found.", i, disk.Name)
		}
	}
	if problem := disconnected(spec); problem != "" {
		return problem
	}
	if usesSecureBoot(&spec.Domain) && (spec.Domain.Features == nil || spec.Domain.Features.SMM == nil || !ptr.Deref(spec.Domain.Features.SMM.Enabled, true)) {
		return "spec.template.spec.domain.firmware.bootloader.efi.secureBoot: has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."
	}
	return ""
}

// disconnected returns an error message for an interface without network, or a network without interface.
func disconnected(spec *kubevirtv1.VirtualMachineInstanceSpec) string {
	for i, nic := range spec.Domain.Devices.Interfaces {
		if !slices.ContainsFunc(spec.Networks, func(n kubevirtv1.Network) bool { return n.Name == nic.Name }) {
			return fmt.Sprintf("spec.template.spec.domain.devices.interfaces[%d].name '%s' not found.", i, nic.Name)
		}
	}
	for i, network := range spec.Networks {
		if !slices.ContainsFunc(spec.Domain.Devices.Interfaces, func(n kubevirtv1.Interface) bool { return n.Name == network.Name }) {
			return fmt.Sprintf("spec.template.spec.networks[%d].name '%s' not found.", i, network.Name)
		}
	}
	return ""
}

// usesSecureBoot reports whether the firmware is EFI with secure boot, which is the default for EFI.
func usesSecureBoot(domain *kubevirtv1.DomainSpec) bool {
	firmware := domain.Firmware
	return firmware != nil && firmware.Bootloader != nil && firmware.Bootloader.EFI != nil && ptr.Deref(firmware.Bootloader.EFI.SecureBoot, true)
}
