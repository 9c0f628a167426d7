// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// nodeUnresponsive is KubeVirt's reason for an instance whose host does not report any more.
const nodeUnresponsive = "NodeUnresponsive"

// Observed is what a virtual machine says of itself.
type Observed struct {
	// Placed says that it has its volumes and a host.
	Placed bool
	// Running says that the guest has started, and is not paused.
	Running bool
	// Host is the Node of Harvester that it runs on; "" while it has none.
	Host string
	// Trouble is why it does not go on; the zero value when nothing is wrong.
	Trouble Trouble
	// Waiting is what it waits for, in KubeVirt's words, while nothing is wrong.
	Waiting string
	// Interfaces are those of its networks, in their order.
	Interfaces []Interface
	// Hostname is that of the guest.
	Hostname string
}

// Interface is one that the virtual machine has for a network.
type Interface struct {
	Network   string
	Addresses []netip.Addr
}

// Trouble is a reason for the condition that it keeps from being true, and a message with the way out.
type Trouble struct{ Reason, Message string }

// Observe reads a virtual machine and its instance, which is nil when there is none.
func Observe(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) Observed {
	o := Observed{Trouble: trouble(vm, vmi), Waiting: string(vm.Status.PrintableStatus)}
	if vmi == nil {
		return o
	}
	o.Host = vmi.Status.NodeName
	o.Hostname = cmp.Or(vmi.Spec.Hostname, vmi.Name)
	o.Placed = o.Host != "" && !vmi.IsFinal()
	o.Running = vmi.Status.Phase == kubevirtv1.Running && vmi.DeletionTimestamp.IsZero() && o.Trouble == Trouble{}
	o.Interfaces = interfaces(vmi)
	return o
}

// interfaces leaves out what the guest makes for itself, such as bridges of containers: that has no network's name.
func interfaces(vmi *kubevirtv1.VirtualMachineInstance) []Interface {
	var list []Interface
	for _, network := range vmi.Spec.Networks {
		at := slices.IndexFunc(vmi.Status.Interfaces, func(i kubevirtv1.VirtualMachineInstanceNetworkInterface) bool { return i.Name == network.Name })
		if at < 0 {
			continue
		}
		reported := vmi.Status.Interfaces[at]
		found := Interface{Network: network.Name}
		for _, text := range append([]string{reported.IP}, reported.IPs...) {
			addr, err := netip.ParseAddr(text)
			if err == nil && addr.IsGlobalUnicast() && !slices.Contains(found.Addresses, addr) {
				found.Addresses = append(found.Addresses, addr)
			}
		}
		list = append(list, found)
	}
	return list
}

// Has reports whether the instance shows the address on one of its networks.
func Has(vmi *kubevirtv1.VirtualMachineInstance, addr netip.Addr) bool {
	return slices.ContainsFunc(interfaces(vmi), func(i Interface) bool { return slices.Contains(i.Addresses, addr) })
}

// trouble is what somebody has to do something about.
func trouble(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) Trouble {
	said := message(vm, vmi)
	switch status := vm.Status.PrintableStatus; {
	case vmi != nil && vmi.Status.Reason == nodeUnresponsive, status == kubevirtv1.VirtualMachineStatusUnknown:
		return Trouble{infrav1.VMHostUnreachableReason, fmt.Sprintf(
			"host %s of VirtualMachine %s does not report%s: repair the host, or delete the Machine", hostOf(vmi), vm.Name, said)}
	case vmi != nil && holds(vmi, kubevirtv1.VirtualMachineInstancePaused), status == kubevirtv1.VirtualMachineStatusPaused:
		return Trouble{infrav1.VMPausedReason, fmt.Sprintf("VirtualMachine %s is paused%s: unpause it, or delete the Machine", vm.Name, said)}
	case status == kubevirtv1.VirtualMachineStatusUnschedulable, vmi != nil && unschedulable(vmi):
		return Trouble{infrav1.VMUnschedulableReason, fmt.Sprintf(
			"no host takes VirtualMachine %s%s: make room in its failure domain, change its affinity, or delete the Machine", vm.Name, said)}
	case slices.Contains(failures(), status), vmi != nil && vmi.Status.Phase == kubevirtv1.Failed:
		return Trouble{infrav1.VMProvisioningFailedReason, fmt.Sprintf(
			"VirtualMachine %s: %s%s: see its events in Harvester, or delete the Machine", vm.Name, cmp.Or(status, "Failed"), said)}
	case status == kubevirtv1.VirtualMachineStatusStopped && halted(vm):
		return Trouble{infrav1.VMNotRunningReason, fmt.Sprintf("VirtualMachine %s was stopped in Harvester: start it, or delete the Machine", vm.Name)}
	}
	return Trouble{}
}

// failures are what KubeVirt says of a virtual machine that does not come up by itself.
func failures() []kubevirtv1.VirtualMachinePrintableStatus {
	return []kubevirtv1.VirtualMachinePrintableStatus{
		kubevirtv1.VirtualMachineStatusCrashLoopBackOff, kubevirtv1.VirtualMachineStatusErrImagePull, kubevirtv1.VirtualMachineStatusImagePullBackOff,
		kubevirtv1.VirtualMachineStatusPvcNotFound, kubevirtv1.VirtualMachineStatusDataVolumeError,
	}
}

// halted reports whether somebody wants it not to run: it is made to run always.
func halted(vm *kubevirtv1.VirtualMachine) bool {
	strategy, err := vm.RunStrategy()
	return err == nil && (strategy == kubevirtv1.RunStrategyHalted || strategy == kubevirtv1.RunStrategyManual)
}

func hostOf(vmi *kubevirtv1.VirtualMachineInstance) string {
	if vmi == nil {
		return ""
	}
	return vmi.Status.NodeName
}

func holds(vmi *kubevirtv1.VirtualMachineInstance, condition kubevirtv1.VirtualMachineInstanceConditionType) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

func unschedulable(vmi *kubevirtv1.VirtualMachineInstance) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return string(c.Type) == string(corev1.PodScheduled) && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// message is what KubeVirt says of the trouble, in brackets; "" when it says nothing.
func message(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance) string {
	said := vmSays(vm, kubevirtv1.VirtualMachineFailure, corev1.ConditionTrue)
	if vmi != nil {
		said = cmp.Or(said, vmiSays(vmi, string(corev1.PodScheduled)), vmiSays(vmi, string(kubevirtv1.VirtualMachineInstanceSynchronized)),
			vmiSays(vmi, string(kubevirtv1.VirtualMachineInstanceReady)))
	} else {
		said = cmp.Or(said, vmSays(vm, kubevirtv1.VirtualMachineReady, corev1.ConditionFalse))
	}
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

func vmSays(vm *kubevirtv1.VirtualMachine, kind kubevirtv1.VirtualMachineConditionType, status corev1.ConditionStatus) string {
	for _, c := range vm.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return c.Message
		}
	}
	return ""
}

// vmiSays is the message of a condition that is False.
func vmiSays(vmi *kubevirtv1.VirtualMachineInstance, kind string) string {
	for _, c := range vmi.Status.Conditions {
		if string(c.Type) == kind && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// Addresses are those of a machine: by network, in their order, then its hostname. Of each network that is one of each family, the
// first: others come and go, such as those that kube-vip gives to services. A fixed address is there also before the guest
// reports it. shared, which the machines of a control plane have in turn, is none of them.
func Addresses(o Observed, static *Static, shared string) []clusterv1.MachineAddress {
	var ips []netip.Addr
	if static != nil {
		ips = append(ips, static.Address.Addr())
	}
	for i, on := range o.Interfaces {
		ips = appendFirsts(ips, on.Addresses, i == 0 && static != nil, shared)
	}
	var list []clusterv1.MachineAddress
	for _, ip := range ips {
		list = append(list, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip.String()})
	}
	if len(list) > 0 && o.Hostname != "" {
		list = append(list,
			clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: o.Hostname},
			clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: o.Hostname})
	}
	return list
}

// appendFirsts adds the first address of each family of an interface. Where it is fixed, ips has that one already.
func appendFirsts(ips, of []netip.Addr, fixed bool, shared string) []netip.Addr {
	has := map[bool]bool{}
	if fixed {
		has[ips[0].Is4()] = true
	}
	for _, addr := range of {
		if !has[addr.Is4()] && addr.String() != shared {
			has[addr.Is4()] = true
			ips = append(ips, addr)
		}
	}
	return ips
}
