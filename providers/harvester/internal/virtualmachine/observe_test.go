// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"cmp"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

type nic = kubevirtv1.VirtualMachineInstanceNetworkInterface

// running returns an instance with two networks on host h1.
func running(interfaces ...nic) *kubevirtv1.VirtualMachineInstance {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	vmi.Name, vmi.Spec.Hostname = "m1", "m1"
	vmi.Spec.Networks = []kubevirtv1.Network{{Name: "nic-1"}, {Name: "nic-2"}}
	vmi.Status = kubevirtv1.VirtualMachineInstanceStatus{Phase: kubevirtv1.Running, NodeName: "h1", Interfaces: interfaces}
	return vmi
}

func with(vmi *kubevirtv1.VirtualMachineInstance, kind string, status corev1.ConditionStatus, reason, message string) *kubevirtv1.VirtualMachineInstance {
	vmi.Status.Conditions = append(vmi.Status.Conditions, kubevirtv1.VirtualMachineInstanceCondition{
		Type: kubevirtv1.VirtualMachineInstanceConditionType(kind), Status: status, Reason: reason, Message: message,
	})
	return vmi
}

// observation is a virtual machine and its expected problem. Without a strategy it has RunStrategyAlways.
type observation struct {
	status   kubevirtv1.VirtualMachinePrintableStatus
	strategy kubevirtv1.VirtualMachineRunStrategy
	vmi      *kubevirtv1.VirtualMachineInstance
	external virtualmachine.ExternalState
	failure  kubevirtv1.VirtualMachineCondition
	reason   string
	messages []string
}

func (tc observation) check(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	vm := &kubevirtv1.VirtualMachine{}
	strategy := cmp.Or(tc.strategy, kubevirtv1.RunStrategyAlways)
	vm.Name, vm.Spec.RunStrategy, vm.Status.PrintableStatus = "m1", &strategy, tc.status
	if tc.failure.Type != "" {
		vm.Status.Conditions = append(vm.Status.Conditions, tc.failure)
	}
	o := virtualmachine.Observe(vm, tc.vmi, tc.external)
	g.Expect(o.Problem.Reason).To(Equal(tc.reason))
	for _, text := range tc.messages {
		g.Expect(o.Problem.Message).To(ContainSubstring(text))
	}
	g.Expect(o.Running).To(Equal(tc.vmi != nil && tc.vmi.Status.Phase == kubevirtv1.Running && tc.reason == ""))
}

// starting returns an instance without a host.
func starting() *kubevirtv1.VirtualMachineInstance {
	vmi := running()
	vmi.Status.Phase, vmi.Status.NodeName = kubevirtv1.Scheduling, ""
	return vmi
}

// in returns an instance in a final phase.
func in(phase kubevirtv1.VirtualMachineInstancePhase, reason string) *kubevirtv1.VirtualMachineInstance {
	vmi := running()
	vmi.Status.Phase, vmi.Status.Reason = phase, reason
	return vmi
}

func TestObserveProblemsBeforeRunning(t *testing.T) {
	t.Parallel()
	refused := kubevirtv1.VirtualMachineCondition{
		Type: kubevirtv1.VirtualMachineFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota",
	}
	const missing = "PVC default/vm-disk-0 does not exist, waiting for it to appear"
	const unbound = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/3 nodes are available"
	for name, tc := range map[string]observation{
		"running":        {status: kubevirtv1.VirtualMachineStatusRunning, vmi: running()},
		"migrating":      {status: kubevirtv1.VirtualMachineStatusMigrating, vmi: running()},
		"provisioning":   {status: kubevirtv1.VirtualMachineStatusProvisioning},
		"just made":      {},
		"before it runs": {status: kubevirtv1.VirtualMachineStatusStopped},
		"unschedulable": {status: kubevirtv1.VirtualMachineStatusUnschedulable,
			vmi:    with(starting(), "PodScheduled", corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available"),
			reason: infrav1.VMUnschedulableReason, messages: []string{"(0/3 nodes are available)", "add capacity to its failure domain"}},
		"unschedulable by its instance only": {status: kubevirtv1.VirtualMachineStatusStarting,
			vmi:    with(starting(), "PodScheduled", corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available"),
			reason: infrav1.VMUnschedulableReason},
		"unschedulable without an instance": {status: kubevirtv1.VirtualMachineStatusUnschedulable, reason: infrav1.VMUnschedulableReason},
		"its volumes are not bound": {status: kubevirtv1.VirtualMachineStatusUnschedulable,
			vmi: with(starting(), "PodScheduled", corev1.ConditionFalse, "Unschedulable", unbound)},
		"a claim of its did not exist at first": {status: kubevirtv1.VirtualMachineStatusUnschedulable,
			vmi: with(starting(), "PodScheduled", corev1.ConditionFalse, "Unschedulable", missing)},
		"its claims are bound, and hosts lack capacity": {status: kubevirtv1.VirtualMachineStatusUnschedulable, external: virtualmachine.ExternalState{Bound: true},
			vmi:    with(starting(), "PodScheduled", corev1.ConditionFalse, "Unschedulable", missing),
			reason: infrav1.VMUnschedulableReason, messages: []string{"no host can run VirtualMachine m1: add capacity"}},
		"its volumes are bound, and its virtual machine does not show it yet": {status: kubevirtv1.VirtualMachineStatusUnschedulable, vmi: starting()},
		"crashing":             {status: kubevirtv1.VirtualMachineStatusCrashLoopBackOff, reason: infrav1.VMProvisioningFailedReason, messages: []string{"CrashLoopBackOff"}},
		"its image is missing": {status: kubevirtv1.VirtualMachineStatusImagePullBackOff, reason: infrav1.VMProvisioningFailedReason},
		"a volume is missing":  {status: kubevirtv1.VirtualMachineStatusPvcNotFound, reason: infrav1.VMProvisioningFailedReason, messages: []string{"see its events in Harvester"}},
		"a volume fails":       {status: kubevirtv1.VirtualMachineStatusDataVolumeError, reason: infrav1.VMProvisioningFailedReason},
		"its instance fails": {status: kubevirtv1.VirtualMachineStatusRunning, vmi: in(kubevirtv1.Failed, ""),
			reason: infrav1.VMProvisioningFailedReason},
		"its instance is refused": {status: kubevirtv1.VirtualMachineStatusStopped, failure: refused,
			reason: infrav1.VMProvisioningFailedReason, messages: []string{"(FailedCreate: exceeded quota)"}},
		"a volume of one that runs is refused": {status: kubevirtv1.VirtualMachineStatusRunning, vmi: running(), failure: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestObserveProblemsAfterRunning(t *testing.T) {
	t.Parallel()
	ran := virtualmachine.ExternalState{Ran: true}
	const silent = "Ready=Unknown NodeStatusUnknown: Kubelet stopped posting node status"
	lost := virtualmachine.ExternalState{Ran: true, HostNotReady: silent}
	for name, tc := range map[string]observation{
		"paused": {status: kubevirtv1.VirtualMachineStatusPaused, vmi: with(running(), "Paused", corev1.ConditionTrue, "PausedByUser", ""),
			reason: infrav1.VMPausedReason, messages: []string{"(PausedByUser)", "unpause it"}},
		"paused by its storage": {status: kubevirtv1.VirtualMachineStatusPaused,
			vmi:    with(running(), "Paused", corev1.ConditionTrue, "PausedIOError", "VMI was paused, low-level IO error detected"),
			reason: infrav1.VMPausedReason, messages: []string{"(PausedIOError: VMI was paused, low-level IO error detected)"}},
		"its host does not report": {status: kubevirtv1.VirtualMachineStatusRunning, vmi: in(kubevirtv1.Failed, "NodeUnresponsive"),
			reason: infrav1.VMHostUnreachableReason, messages: []string{"host h1", "(NodeUnresponsive)", "repair the host"}},
		"its host is not ready, and KubeVirt calls it running": {status: kubevirtv1.VirtualMachineStatusRunning,
			vmi: with(running(), "Ready", corev1.ConditionFalse, "", ""), external: lost,
			reason: infrav1.VMHostUnreachableReason, messages: []string{"host h1", silent, "vm-force-reset-policy", "or delete the Machine"}},
		"its host was not ready, and its instance has failed": {status: kubevirtv1.VirtualMachineStatusStopped, vmi: in(kubevirtv1.Failed, ""), external: lost,
			reason: infrav1.VMNotRunningReason, messages: []string{"Harvester restarts it"}},
		"crashed": {status: kubevirtv1.VirtualMachineStatusStopped, external: ran,
			vmi:    with(in(kubevirtv1.Failed, ""), "Ready", corev1.ConditionFalse, "GuestNotRunning", "Guest VM is not reported as running"),
			reason: infrav1.VMNotRunningReason, messages: []string{"GuestNotRunning: Guest VM is not reported as running", "Harvester restarts it"}},
		"shut down by its guest": {status: kubevirtv1.VirtualMachineStatusStopped, strategy: kubevirtv1.RunStrategyRerunOnFailure,
			vmi: in(kubevirtv1.Succeeded, ""), external: ran, reason: infrav1.VMNotRunningReason, messages: []string{"was stopped", "start it"}},
		"stopped, and to run again on failure only": {status: kubevirtv1.VirtualMachineStatusStopped, strategy: kubevirtv1.RunStrategyRerunOnFailure,
			external: ran, reason: infrav1.VMNotRunningReason, messages: []string{"was stopped", "start it"}},
		"stopped for a moment": {status: kubevirtv1.VirtualMachineStatusStopped, external: ran,
			reason: infrav1.VMNotRunningReason, messages: []string{"was stopped", "Harvester restarts it"}},
		"stopped by a user": {status: kubevirtv1.VirtualMachineStatusStopped, strategy: kubevirtv1.RunStrategyHalted,
			reason: infrav1.VMNotRunningReason, messages: []string{"was stopped in Harvester, or by its guest: start it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestObservedHost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := virtualmachine.Observe(&kubevirtv1.VirtualMachine{}, running(), virtualmachine.ExternalState{})
	g.Expect(o.Host).To(Equal("h1"))
	g.Expect(o.Placed).To(BeTrue())
	o = virtualmachine.Observe(&kubevirtv1.VirtualMachine{}, nil, virtualmachine.ExternalState{})
	g.Expect(o.Host).To(BeEmpty())
	g.Expect(o.Placed).To(BeFalse())
}

func TestAddressesExcludeGuestInterfaces(t *testing.T) {
	t.Parallel()
	internal := func(ip string) clusterv1.MachineAddress {
		return clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip}
	}
	host := []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "m1"}, {Type: clusterv1.MachineInternalDNS, Address: "m1"}}
	for name, tc := range map[string]struct {
		interfaces []nic
		static     string
		want       []clusterv1.MachineAddress
	}{
		"in the order of the networks": {
			interfaces: []nic{{Name: "nic-2", IP: "10.2.0.5"}, {Name: "nic-1", IP: "10.1.0.5", IPs: []string{"10.1.0.5", "fe80::1"}}},
			want:       append([]clusterv1.MachineAddress{internal("10.1.0.5"), internal("10.2.0.5")}, host...),
		},
		"both families": {
			interfaces: []nic{{Name: "nic-1", IP: "10.1.0.5", IPs: []string{"10.1.0.5", "fd00::5"}}},
			want:       append([]clusterv1.MachineAddress{internal("10.1.0.5"), internal("fd00::5")}, host...),
		},
		"pods and containers": {interfaces: []nic{
			{InterfaceName: "cni0", IP: "10.42.0.1"}, {InterfaceName: "flannel.1", IP: "10.42.0.0"}, {InterfaceName: "lo", IP: "127.0.0.1"},
			{InterfaceName: "docker0", IP: "172.17.0.1"},
		}},
		"only link-local":            {interfaces: []nic{{Name: "nic-1", IP: "169.254.10.2", IPs: []string{"169.254.10.2", "fe80::5054:ff:fe12:3456"}}}},
		"the cluster's own endpoint": {interfaces: []nic{{Name: "nic-1", IP: "10.1.0.100", IPs: []string{"10.1.0.100", "10.1.0.5"}}}, want: append([]clusterv1.MachineAddress{internal("10.1.0.5")}, host...)},
		"addresses of services":      {interfaces: []nic{{Name: "nic-1", IP: "10.1.0.5", IPs: []string{"10.1.0.5", "10.1.0.77"}}}, want: append([]clusterv1.MachineAddress{internal("10.1.0.5")}, host...)},
		"fixed, and not reported":    {interfaces: []nic{{Name: "nic-1"}}, static: "10.1.0.9/24", want: append([]clusterv1.MachineAddress{internal("10.1.0.9")}, host...)},
		"fixed, and reported": {interfaces: []nic{{Name: "nic-1", IP: "10.1.0.9"}, {Name: "nic-2", IP: "10.2.0.5"}}, static: "10.1.0.9/24",
			want: append([]clusterv1.MachineAddress{internal("10.1.0.9"), internal("10.2.0.5")}, host...)},
		"with a zone, and written as IPv6": {interfaces: []nic{{Name: "nic-1", IP: "fd00::5%enp1s0", IPs: []string{"fd00::5", "::ffff:10.1.0.5"}}},
			want: append([]clusterv1.MachineAddress{internal("fd00::5"), internal("10.1.0.5")}, host...)},
		"none yet": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var static *virtualmachine.Static
			if tc.static != "" {
				static = &virtualmachine.Static{Address: netip.MustParsePrefix(tc.static)}
			}
			o := virtualmachine.Observe(&kubevirtv1.VirtualMachine{}, running(tc.interfaces...), virtualmachine.ExternalState{})
			NewWithT(t).Expect(virtualmachine.Addresses(o, static, "10.1.0.100")).To(Equal(tc.want))
		})
	}
}
