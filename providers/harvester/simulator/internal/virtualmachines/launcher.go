// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

const (
	launcherApp    = "virt-launcher"
	launcherPrefix = launcherApp + "-"
	// cpuRatio is how many guest CPUs share one CPU of the host, unless the virtual machine sets requests.
	cpuRatio = 10
	// guestGrace is the default number of seconds for the shutdown of a guest, and podGrace is added for its Pod.
	guestGrace, podGrace int64 = 30, 15
)

// PodName returns the name of an instance's Pod. Target Pods of migrations have another suffix.
func PodName(vmi *kubevirtv1.VirtualMachineInstance, suffix string) string {
	const most = 63 - len(launcherPrefix) - 1 - 8
	return launcherPrefix + vmi.Name[:min(len(vmi.Name), most)] + "-" + suffix[:min(len(suffix), 8)]
}

// Pod returns the Pod of a virtual machine.
func Pod(vmi *kubevirtv1.VirtualMachineInstance, suffix string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: vmi.Namespace, Name: PodName(vmi, suffix),
		Labels: maps.Clone(vmi.Labels), Annotations: map[string]string{kubevirtv1.DomainAnnotation: vmi.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vmi, kubevirtv1.VirtualMachineInstanceGroupVersionKind)},
	}}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	delete(pod.Labels, kubevirtv1.NodeNameLabel)
	pod.Labels[kubevirtv1.AppLabel] = launcherApp
	pod.Labels[kubevirtv1.CreatedByLabel] = string(vmi.UID)
	pod.Labels[kubevirtv1.DeprecatedVirtualMachineNameLabel] = vmi.Name
	pod.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To(ptr.Deref(vmi.Spec.TerminationGracePeriodSeconds, guestGrace) + podGrace),
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		NodeSelector: map[string]string{kubevirtv1.NodeSchedulable: "true"},
		Affinity:     vmi.Spec.Affinity.DeepCopy(), Tolerations: vmi.Spec.Tolerations,
		TopologySpreadConstraints: vmi.Spec.TopologySpreadConstraints, SchedulerName: vmi.Spec.SchedulerName,
		PriorityClassName: vmi.Spec.PriorityClassName,
		Containers:        []corev1.Container{{Name: "compute", Image: "simulated/virt-launcher", Resources: resourcesOf(&vmi.Spec.Domain)}},
	}
	maps.Copy(pod.Spec.NodeSelector, vmi.Spec.NodeSelector)
	return pod
}

// resourcesOf returns the resources that a virtual machine requests: its own requests, or a share of its CPUs and all its memory, plus
// the overhead.
func resourcesOf(domain *kubevirtv1.DomainSpec) corev1.ResourceRequirements {
	cpus := virtualCPUs(domain)
	memory := guestMemory(domain)
	requests := corev1.ResourceList{}
	for name, asked := range domain.Resources.Requests {
		requests[name] = asked.DeepCopy()
	}
	if _, ok := requests[corev1.ResourceCPU]; !ok {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpus*1000/cpuRatio, resource.DecimalSI)
	}
	if _, ok := requests[corev1.ResourceMemory]; !ok {
		requests[corev1.ResourceMemory] = memory
	}
	total := requests[corev1.ResourceMemory]
	total.Add(overhead(cpus, memory))
	requests[corev1.ResourceMemory] = total
	return corev1.ResourceRequirements{Requests: requests}
}

func virtualCPUs(domain *kubevirtv1.DomainSpec) int64 {
	if domain.CPU == nil {
		limit := domain.Resources.Limits.Cpu()
		return max(1, limit.Value())
	}
	return int64(max(1, domain.CPU.Cores)) * int64(max(1, domain.CPU.Sockets)) * int64(max(1, domain.CPU.Threads))
}

// guestMemory returns the memory visible to the guest.
func guestMemory(domain *kubevirtv1.DomainSpec) resource.Quantity {
	switch {
	case domain.Memory != nil && domain.Memory.Guest != nil:
		return domain.Memory.Guest.DeepCopy()
	case !domain.Resources.Limits.Memory().IsZero():
		return domain.Resources.Limits.Memory().DeepCopy()
	default:
		return domain.Resources.Requests.Memory().DeepCopy()
	}
}

// overhead approximates the memory of virt-launcher and QEMU in addition to that of the guest: their own, its page tables, and 8
// MiB for each CPU.
func overhead(cpus int64, memory resource.Quantity) resource.Quantity {
	const mebi = 1 << 20
	return *resource.NewQuantity(220*mebi+memory.Value()/512+cpus*8*mebi, resource.BinarySI)
}
