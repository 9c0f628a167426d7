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

// nodeUnresponsive is KubeVirt's reason for an instance whose host stopped reporting.
const nodeUnresponsive = "NodeUnresponsive"

// Observed is the observed state of a virtual machine.
type Observed struct {
	// Placed reports that the virtual machine has its volumes and a host.
	Placed bool
	// Running reports that the guest has started and is not paused.
	Running bool
	// Host is the Node of Harvester that the virtual machine runs on; "" while it has none.
	Host string
	// Problem is what blocks the virtual machine; the zero value if nothing does.
	Problem Problem
	// Waiting is what the virtual machine waits for without a problem.
	Waiting string
	// Interfaces lists the interfaces of its networks, in their order.
	Interfaces []Interface
	// Hostname is the guest's hostname.
	Hostname string
}

// Interface is the virtual machine's interface to a network.
type Interface struct {
	Network   string
	Addresses []netip.Addr
}

// Problem holds the reason for a condition that is not true, and a message with the fix.
type Problem struct{ Reason, Message string }

// ExternalState holds information on a virtual machine that its own objects do not have.
type ExternalState struct {
	// Ran reports that the machine was provisioned, so its virtual machine has run.
	Ran bool
	// HostNotReady is why the host of the instance is not ready, as Kubernetes reports it; "" if it is ready or unknown.
	HostNotReady string
	// Bound reports that the claims of its disks exist and are bound. It is only used if MayLackVolumes.
	Bound bool
}

// Observe returns the state of a virtual machine and its instance, which may be nil.
func Observe(vm *kubevirtv1.VirtualMachine, vmi *kubevirtv1.VirtualMachineInstance, external ExternalState) Observed {
	o := Observed{Problem: findProblem(&problemChecks{vm, vmi, external}), Waiting: string(vm.Status.PrintableStatus)}
	switch {
	case vmi != nil && lacksVolumes(vmi, external):
		o.Waiting = "its PersistentVolumeClaims are not bound yet; if this persists, see their events in Harvester"
	case vmi == nil && vm.Status.PrintableStatus == "", vmi != nil && vmi.Status.Phase == kubevirtv1.VmPhaseUnset:
		o.Waiting = "virt-controller has not processed it yet; if this persists, see the Deployment virt-controller of Harvester"
	}
	if vmi == nil {
		return o
	}
	o.Host = vmi.Status.NodeName
	o.Hostname = cmp.Or(vmi.Spec.Hostname, vmi.Name)
	o.Placed = o.Host != "" && !vmi.IsFinal()
	o.Running = vmi.Status.Phase == kubevirtv1.Running && vmi.DeletionTimestamp.IsZero() && o.Problem == Problem{}
	o.Interfaces = interfaces(vmi)
	return o
}

// interfaces excludes those that the guest creates, such as bridges of containers: they have no network's name.
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

// ReportsAddress reports whether the instance reports the address on one of its networks.
func ReportsAddress(vmi *kubevirtv1.VirtualMachineInstance, addr netip.Addr) bool {
	return slices.ContainsFunc(interfaces(vmi), func(i Interface) bool { return slices.Contains(i.Addresses, addr) })
}

// problemChecks is the input of the checks for problems.
type problemChecks struct {
	vm       *kubevirtv1.VirtualMachine
	vmi      *kubevirtv1.VirtualMachineInstance
	external ExternalState
}

// findProblem returns the first problem that needs user action.
func findProblem(s *problemChecks) Problem {
	for _, find := range []func() Problem{s.unreachable, s.paused, s.unplaced, s.failed, s.ended} {
		if found := find(); found.Reason != "" {
			return found
		}
	}
	return Problem{}
}

// unreachable also covers an instance that KubeVirt still reports as Running: the component that would end it runs on the same host.
func (s *problemChecks) unreachable() Problem {
	var why string
	switch {
	case s.vmi != nil && s.vmi.Status.Reason == nodeUnresponsive, s.vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusUnknown:
		why = "is not responding" + s.message()
	case s.vmi != nil && s.vmi.Status.NodeName != "" && !s.vmi.IsFinal() && s.external.HostNotReady != "":
		why = fmt.Sprintf("is not ready (%s)", s.external.HostNotReady)
	default:
		return Problem{}
	}
	return Problem{infrav1.VMHostUnreachableReason, fmt.Sprintf(
		"host %s of VirtualMachine %s %s, so it is unknown whether the virtual machine runs: repair the host, wait until Harvester starts it on another "+
			"(setting vm-force-reset-policy), or delete the Machine", hostOf(s.vmi), s.vm.Name, why)}
}

func (s *problemChecks) paused() Problem {
	var detail string
	if s.vmi != nil {
		detail = inBrackets(vmiConditionMessage(s.vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue))
	}
	if detail == "" && s.vm.Status.PrintableStatus != kubevirtv1.VirtualMachineStatusPaused {
		return Problem{}
	}
	return Problem{infrav1.VMPausedReason, fmt.Sprintf("VirtualMachine %s is paused%s: unpause it, or delete the Machine", s.vm.Name, detail)}
}

// unplaced reports a lack of capacity. It prefers the instance's conditions, as those of its virtual machine lag behind.
func (s *problemChecks) unplaced() Problem {
	if s.vmi == nil && s.vm.Status.PrintableStatus != kubevirtv1.VirtualMachineStatusUnschedulable ||
		s.vmi != nil && (!unschedulable(s.vmi) || lacksVolumes(s.vmi, s.external)) {
		return Problem{}
	}
	why := s.message()
	if s.vmi != nil && MayLackVolumes(s.vmi) {
		why = "" // KubeVirt's message is outdated
	}
	return Problem{infrav1.VMUnschedulableReason, fmt.Sprintf(
		"no host can run VirtualMachine %s%s: add capacity to its failure domain, change its affinity, or delete the Machine", s.vm.Name, why)}
}

// failed reports a virtual machine that cannot start.
func (s *problemChecks) failed() Problem {
	status := s.vm.Status.PrintableStatus
	refused := vmConditionMessage(s.vm, kubevirtv1.VirtualMachineFailure, corev1.ConditionTrue) != "" && (s.vmi == nil || s.vmi.Status.Phase != kubevirtv1.Running)
	if !refused && !slices.Contains(failures(), status) && (s.external.Ran || s.vmi == nil || s.vmi.Status.Phase != kubevirtv1.Failed) {
		return Problem{}
	}
	return Problem{infrav1.VMProvisioningFailedReason, fmt.Sprintf(
		"VirtualMachine %s: %s%s: see its events in Harvester, or delete the Machine", s.vm.Name, cmp.Or(status, "Failed"), s.message())}
}

// ended reports a virtual machine that stopped or should not run. A new one is Stopped until KubeVirt has reconciled it.
func (s *problemChecks) ended() Problem {
	stopped := s.vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusStopped
	switch {
	case stopped && halted(s.vm):
	case s.vmi != nil && s.vmi.IsFinal():
	case s.vmi == nil && stopped && s.external.Ran:
	default:
		return Problem{}
	}
	if s.restarts() {
		return Problem{infrav1.VMNotRunningReason, fmt.Sprintf("VirtualMachine %s was stopped or failed%s, and Harvester restarts it: "+
			"if this repeats, see its events in Harvester, or delete the Machine", s.vm.Name, s.message())}
	}
	return Problem{infrav1.VMNotRunningReason, fmt.Sprintf(
		"VirtualMachine %s was stopped in Harvester, or by its guest: start it, or delete the Machine", s.vm.Name)}
}

// restarts reports whether KubeVirt restarts the virtual machine after it ended.
func (s *problemChecks) restarts() bool {
	strategy, err := s.vm.RunStrategy()
	if err != nil {
		return false
	}
	return strategy == kubevirtv1.RunStrategyAlways ||
		strategy == kubevirtv1.RunStrategyRerunOnFailure && s.vmi != nil && s.vmi.Status.Phase == kubevirtv1.Failed
}

// failures lists KubeVirt's statuses of a virtual machine that cannot start without help.
func failures() []kubevirtv1.VirtualMachinePrintableStatus {
	return []kubevirtv1.VirtualMachinePrintableStatus{
		kubevirtv1.VirtualMachineStatusCrashLoopBackOff, kubevirtv1.VirtualMachineStatusErrImagePull, kubevirtv1.VirtualMachineStatusImagePullBackOff,
		kubevirtv1.VirtualMachineStatusPvcNotFound, kubevirtv1.VirtualMachineStatusDataVolumeError,
	}
}

// halted reports whether a user stopped the virtual machine: it is created with RunStrategyAlways.
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

// lacksVolumes reports whether the instance is unschedulable only until its claims are bound, as every new instance is.
func lacksVolumes(vmi *kubevirtv1.VirtualMachineInstance, external ExternalState) bool {
	return MayLackVolumes(vmi) && !external.Bound
}

// MayLackVolumes reports whether claims of the instance were missing or unbound when virt-controller first recorded why it has no host.
// virt-controller keeps that message until there is a host, even if all claims are bound and the hosts lack capacity, so the caller must
// read the claims.
func MayLackVolumes(vmi *kubevirtv1.VirtualMachineInstance) bool {
	why := vmiConditionMessage(vmi, scheduledCondition, corev1.ConditionFalse)
	return unschedulable(vmi) && (strings.Contains(why, unboundClaims) || strings.HasSuffix(why, missingClaim))
}

const (
	// scheduledCondition is the instance's copy of its Pod's condition.
	scheduledCondition = kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled)
	// unboundClaims is part of kube-scheduler's message for a Pod with unbound claims.
	unboundClaims = "unbound immediate PersistentVolumeClaims"
	// missingClaim ends virt-controller's message for an instance whose claim does not exist yet.
	missingClaim = "does not exist, waiting for it to appear"
)

// message returns KubeVirt's message on the problem, in brackets; "" without one.
func (s *problemChecks) message() string {
	detail := vmConditionMessage(s.vm, kubevirtv1.VirtualMachineFailure, corev1.ConditionTrue)
	if s.vmi == nil {
		return inBrackets(cmp.Or(detail, vmConditionMessage(s.vm, kubevirtv1.VirtualMachineReady, corev1.ConditionFalse)))
	}
	for _, kind := range []kubevirtv1.VirtualMachineInstanceConditionType{
		scheduledCondition, kubevirtv1.VirtualMachineInstanceSynchronized, kubevirtv1.VirtualMachineInstanceReady,
	} {
		detail = cmp.Or(detail, vmiConditionMessage(s.vmi, kind, corev1.ConditionFalse))
	}
	return inBrackets(cmp.Or(detail, s.vmi.Status.Reason))
}

func inBrackets(detail string) string {
	if detail == "" {
		return ""
	}
	return " (" + detail + ")"
}

// vmConditionMessage returns the reason and message of a condition with that status; "" without one.
func vmConditionMessage(vm *kubevirtv1.VirtualMachine, kind kubevirtv1.VirtualMachineConditionType, status corev1.ConditionStatus) string {
	for _, c := range vm.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return conditionText(c.Reason, c.Message)
		}
	}
	return ""
}

// vmiConditionMessage is vmConditionMessage for an instance.
func vmiConditionMessage(
	vmi *kubevirtv1.VirtualMachineInstance, kind kubevirtv1.VirtualMachineInstanceConditionType, status corev1.ConditionStatus,
) string {
	for _, c := range vmi.Status.Conditions {
		if c.Type == kind && c.Status == status {
			return conditionText(c.Reason, c.Message)
		}
	}
	return ""
}

// conditionText omits kube-scheduler's reason, which the message repeats.
func conditionText(reason, message string) string {
	if reason == "" || message == "" || reason == corev1.PodReasonUnschedulable {
		return cmp.Or(message, reason)
	}
	return reason + ": " + message
}

// Addresses returns the addresses of a machine: by network, in their order, then its hostname. It takes the first address of each
// family of a network, because others are transient, such as those that kube-vip assigns to Services. A static address is included
// before the guest reports it. shared, the endpoint that moves between control-plane machines, is excluded.
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

// appendFirsts appends the first address of each family of an interface. If the interface has a static address, ips already holds it.
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
