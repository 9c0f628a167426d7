// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
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

// About is what is known of a virtual machine from elsewhere.
type About struct {
	// Ran says that the machine has been provisioned: its virtual machine has run.
	Ran bool
	// HostNotReady is why the host of its instance is not ready, in Kubernetes' words; "" while it is, or is not known.
	HostNotReady string
	// Bound says that the claims of its disks exist and are bound. It is asked for when MayLackVolumes.
	Bound bool
}

// Observe reads a virtual machine and its instance, which is nil when there is none.
func Observe(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, about About) Observed {
	o := Observed{Trouble: trouble(&situation{vm, vmi, about}), Waiting: string(vm.Status.PrintableStatus)}
	if vmi != nil && lacksVolumes(vmi, about) {
		o.Waiting = "its PersistentVolumeClaims are not bound yet; if that lasts, see their events in Harvester"
	}
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
			addr, ok := ipaddr.Parse(text)
			if ok && addr.IsGlobalUnicast() && !slices.Contains(found.Addresses, addr) {
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

// situation is what a trouble is found in.
type situation struct {
	vm    *kubevirtv1.VirtualMachine
	vmi   *kubevirtv1.VirtualMachineInstance
	about About
}

// trouble is what somebody has to do something about.
func trouble(s *situation) Trouble {
	for _, find := range []func() Trouble{s.unreachable, s.paused, s.unplaced, s.failed, s.ended} {
		if found := find(); found.Reason != "" {
			return found
		}
	}
	return Trouble{}
}

// unreachable is also of an instance that KubeVirt goes on to call Running: what would end it runs on the host, too.
func (s *situation) unreachable() Trouble {
	var why string
	switch {
	case s.vmi != nil && s.vmi.Status.Reason == nodeUnresponsive, s.vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusUnknown:
		why = "does not report" + s.message()
	case s.vmi != nil && s.vmi.Status.NodeName != "" && !s.vmi.IsFinal() && s.about.HostNotReady != "":
		why = fmt.Sprintf("is not ready (%s)", s.about.HostNotReady)
	default:
		return Trouble{}
	}
	return Trouble{infrav1.VMHostUnreachableReason, fmt.Sprintf(
		"host %s of VirtualMachine %s %s, and whether it runs is not known: repair the host, wait until Harvester starts it on another "+
			"(setting vm-force-reset-policy), or delete the Machine", hostOf(s.vmi), s.vm.Name, why)}
}

func (s *situation) paused() Trouble {
	var said string
	if s.vmi != nil {
		said = quoted(vmiSays(s.vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue))
	}
	if said == "" && s.vm.Status.PrintableStatus != kubevirtv1.VirtualMachineStatusPaused {
		return Trouble{}
	}
	return Trouble{infrav1.VMPausedReason, fmt.Sprintf("VirtualMachine %s is paused%s: unpause it, or delete the Machine", s.vm.Name, said)}
}

// unplaced is about room. The instance knows first, and its virtual machine still says so when there is some.
func (s *situation) unplaced() Trouble {
	if s.vmi == nil && s.vm.Status.PrintableStatus != kubevirtv1.VirtualMachineStatusUnschedulable ||
		s.vmi != nil && (!unschedulable(s.vmi) || lacksVolumes(s.vmi, s.about)) {
		return Trouble{}
	}
	why := s.message()
	if s.vmi != nil && MayLackVolumes(s.vmi) {
		why = "" // what KubeVirt says is over
	}
	return Trouble{infrav1.VMUnschedulableReason, fmt.Sprintf(
		"no host takes VirtualMachine %s%s: make room in its failure domain, change its affinity, or delete the Machine", s.vm.Name, why)}
}

// failed is about one that does not come up.
func (s *situation) failed() Trouble {
	status := s.vm.Status.PrintableStatus
	refused := vmSays(s.vm, kubevirtv1.VirtualMachineFailure, corev1.ConditionTrue) != "" && (s.vmi == nil || s.vmi.Status.Phase != kubevirtv1.Running)
	if !refused && !slices.Contains(failures(), status) && (s.about.Ran || s.vmi == nil || s.vmi.Status.Phase != kubevirtv1.Failed) {
		return Trouble{}
	}
	return Trouble{infrav1.VMProvisioningFailedReason, fmt.Sprintf(
		"VirtualMachine %s: %s%s: see its events in Harvester, or delete the Machine", s.vm.Name, cmp.Or(status, "Failed"), s.message())}
}

// ended is about one that does not run any more, and one that is not to run. One that has not run yet is Stopped until KubeVirt has seen it.
func (s *situation) ended() Trouble {
	stopped := s.vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusStopped
	switch {
	case stopped && halted(s.vm):
	case s.vmi != nil && s.vmi.IsFinal():
	case s.vmi == nil && stopped && s.about.Ran:
	default:
		return Trouble{}
	}
	if s.restarts() {
		return Trouble{infrav1.VMNotRunningReason, fmt.Sprintf("VirtualMachine %s was stopped, or has failed%s, and Harvester starts it again: "+
			"if that goes on, see its events in Harvester, or delete the Machine", s.vm.Name, s.message())}
	}
	return Trouble{infrav1.VMNotRunningReason, fmt.Sprintf(
		"VirtualMachine %s was stopped in Harvester, or by its guest: start it, or delete the Machine", s.vm.Name)}
}

// restarts reports whether KubeVirt starts one again that has ended.
func (s *situation) restarts() bool {
	strategy, err := s.vm.RunStrategy()
	if err != nil {
		return false
	}
	return strategy == kubevirtv1.RunStrategyAlways ||
		strategy == kubevirtv1.RunStrategyRerunOnFailure && s.vmi != nil && s.vmi.Status.Phase == kubevirtv1.Failed
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

func unschedulable(vmi *kubevirtv1.VirtualMachineInstance) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return string(c.Type) == string(corev1.PodScheduled) && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// lacksVolumes reports whether the instance is unschedulable only until its claims are bound, as each is at first.
func lacksVolumes(vmi *kubevirtv1.VirtualMachineInstance, about About) bool {
	return MayLackVolumes(vmi) && !about.Bound
}

// MayLackVolumes reports whether claims of the instance were missing or not bound when virt-controller first saw why it has no host. It keeps
// showing that until there is a host, also when all claims are bound and there is no room, so that the claims have to be looked at.
func MayLackVolumes(vmi *kubevirtv1.VirtualMachineInstance) bool {
	why := vmiSays(vmi, scheduledCondition, corev1.ConditionFalse)
	return unschedulable(vmi) && (strings.Contains(why, unboundClaims) || strings.HasSuffix(why, missingClaim))
}

const (
	// scheduledCondition of an instance is that of its Pod.
	scheduledCondition = kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled)
	// unboundClaims is what kube-scheduler says of a Pod whose claims are not bound yet.
	unboundClaims = "unbound immediate PersistentVolumeClaims"
	// missingClaim is what virt-controller says of an instance whose claim does not exist yet.
	missingClaim = "does not exist, waiting for it to appear"
)

// message is what KubeVirt says of the trouble, in brackets; "" when it says nothing.
func (s *situation) message() string {
	said := vmSays(s.vm, kubevirtv1.VirtualMachineFailure, corev1.ConditionTrue)
	if s.vmi == nil {
		return quoted(cmp.Or(said, vmSays(s.vm, kubevirtv1.VirtualMachineReady, corev1.ConditionFalse)))
	}
	for _, kind := range []kubevirtv1.VirtualMachineInstanceConditionType{
		scheduledCondition, kubevirtv1.VirtualMachineInstanceSynchronized, kubevirtv1.VirtualMachineInstanceReady,
	} {
		said = cmp.Or(said, vmiSays(s.vmi, kind, corev1.ConditionFalse))
	}
	return quoted(cmp.Or(said, s.vmi.Status.Reason))
}

func quoted(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

// vmSays is the reason and message of a condition that has the status; "" when it has not.
func vmSays(vm *kubevirtv1.VirtualMachine, kind kubevirtv1.VirtualMachineConditionType, status corev1.ConditionStatus) string {
	for _, c := range vm.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return words(c.Reason, c.Message)
		}
	}
	return ""
}

// vmiSays is vmSays of an instance.
func vmiSays(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType, status corev1.ConditionStatus,
) string {
	for _, c := range vmi.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return words(c.Reason, c.Message)
		}
	}
	return ""
}

// words leave out the reason of kube-scheduler, which is in the message.
func words(reason, message string) string {
	if reason == "" || message == "" || reason == corev1.PodReasonUnschedulable {
		return cmp.Or(message, reason)
	}
	return reason + ": " + message
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
