// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// notBalanced returns a row with a control plane whose first machine should be in the third failure domain.
func notBalanced(name, reason string, change func(*Objects), says ...string) Row {
	return Row{
		Name: name, ControlPlane: "aab", Change: change,
		Condition: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: says,
	}
}

// ofIntents returns rows about spec.distribution.failureDomains.
func ofIntents() []Row {
	return []Row{
		notBalanced("unknown-domain", faultlinev1.ReasonFailureDomainIntentInvalid,
			func(o *Objects) { o.Set(faultlinev1.DomainCordoned, "nowhere") },
			"spec.distribution.failureDomains: nowhere is not a failure domain of this cluster: correct the entry, or remove it"),
		{
			Name: "unknown-domain-and-nothing-to-move", ControlPlane: "abc",
			Change:    func(o *Objects) { o.Set(faultlinev1.DomainCordoned, "nowhere") },
			Condition: faultlinev1.FailureDomainsReadyCondition, Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonAllActive,
			Message: []string{"spec.distribution.failureDomains: nowhere is not a failure domain of this cluster: correct the entry, or remove it"},
		},
		{
			Name: "contradicting-intents", ControlPlane: "aab",
			Change: func(o *Objects) {
				o.Set(faultlinev1.DomainCordoned, o.domain('a'))
				o.Set(faultlinev1.DomainEvicting, o.domain('a'))
			},
			Refused: []string{"spec.distribution.failureDomains[1]: Duplicate value"},
		},
		notBalanced("all-cordoned", faultlinev1.ReasonNoActiveFailureDomain,
			func(o *Objects) { o.Set(faultlinev1.DomainCordoned, o.environment.Domains[:]...) },
			"repair one, or set its state to Active in spec.distribution.failureDomains"),
		notBalanced("all-evicting", faultlinev1.ReasonNoRoom,
			func(o *Objects) { o.Set(faultlinev1.DomainEvicting, o.environment.Domains[:]...) },
			"no failure domain is Active for 3 machines: add capacity or a failure domain, or set the state of one to Active in spec.distribution.failureDomains"),
		notBalanced("eviction-without-end", faultlinev1.ReasonNoRoom,
			func(o *Objects) {
				o.Set(faultlinev1.DomainEvicting, o.domain('a'))
				o.Set(faultlinev1.DomainCordoned, o.domain('b'), o.domain('c'))
			},
			"no failure domain is Active for 2 machines: add capacity or a failure domain"),
	}
}

// ofControlPlanes returns rows about the control plane object.
func ofControlPlanes() []Row {
	even := notBalanced("even-replicas", faultlinev1.ReasonEvenReplicas, func(*Objects) {},
		"KubeadmControlPlane even-replicas has spec.replicas 4: set an odd number")
	even.ControlPlane = "aaab"
	of := func(kind, name string) func(*Objects) {
		return func(o *Objects) {
			o.ControlPlane = nil
			o.Cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: kind, Name: name}
		}
	}
	elsewhere := of("K3sControlPlane", "k3s")
	return []Row{
		notBalanced("paused", faultlinev1.ReasonControlPlanePaused,
			func(o *Objects) { o.ControlPlane.Annotations[clusterv1.PausedAnnotation] = "" },
			"KubeadmControlPlane paused is paused: remove its annotation cluster.x-k8s.io/paused"),
		notBalanced("no-surge", faultlinev1.ReasonNoSurge,
			func(o *Objects) {
				o.ControlPlane.Spec.Rollout.Strategy = controlplanev1.KubeadmControlPlaneRolloutStrategy{
					Type:          controlplanev1.RollingUpdateStrategyType,
					RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0))},
				}
			},
			"KubeadmControlPlane no-surge has spec.rollout.strategy.rollingUpdate.maxSurge 0", "set it to 1"),
		even,
		notBalanced("another-control-plane", faultlinev1.ReasonControlPlaneNotSupported, elsewhere,
			"K3sControlPlane k3s is not a KubeadmControlPlane or RKE2ControlPlane", "set spec.distribution.controlPlane.rebalance to Advise or Off"),
		notBalanced("rke2-not-installed", faultlinev1.ReasonControlPlaneNotSupported, of("RKE2ControlPlane", "rke2"),
			"RKE2ControlPlane rke2, which spec.controlPlaneRef of Cluster rke2-not-installed names, does not exist: create it, or correct the reference"),
		{
			Name: "external-control-plane", Change: elsewhere,
			Condition: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionUnknown, Reason: faultlinev1.ReasonNoControlPlaneMachines,
			Message: []string{"if its control plane runs elsewhere, set spec.distribution.controlPlane.rebalance to Off"},
		},
		notBalanced("no-control-plane", faultlinev1.ReasonControlPlaneNotSupported,
			func(o *Objects) {
				o.ControlPlane, o.Cluster.Spec.ControlPlaneRef = nil, clusterv1.ContractVersionedObjectReference{}
			},
			"Cluster no-control-plane has no control plane that could move a machine: set spec.controlPlaneRef, or spec.distribution.controlPlane.rebalance to Off"),
		notBalanced("missing-control-plane", faultlinev1.ReasonControlPlaneNotSupported,
			func(o *Objects) { o.ControlPlane = nil },
			"KubeadmControlPlane missing-control-plane, which spec.controlPlaneRef of Cluster missing-control-plane names, does not exist: create it, or correct the reference"),
		{
			Name: "nothing-wrong", ControlPlane: "aab", Change: func(*Objects) {}, Moves: true,
			Condition: faultlinev1.ControlPlaneBalancedCondition, Status: metav1.ConditionFalse, Reason: faultlinev1.ReasonMoving,
			Message: []string{"Machine nothing-wrong-cp-0 is moved from %a to %c"},
		},
	}
}

// ofMachines returns rows about single machines of a control plane.
func ofMachines() []Row {
	return []Row{
		notBalanced("users-mark", faultlinev1.ReasonMachineMarked,
			func(o *Objects) { o.Machines[2].Annotations[clusterv1.DeleteMachineAnnotation] = "yes" },
			"Machine users-mark-cp-2 has the annotation cluster.x-k8s.io/delete-machine, which Faultline has not set: remove it, or scale down"),
		notBalanced("no-node", faultlinev1.ReasonMachineNotReady,
			func(o *Objects) {
				o.Machines[1].Status.NodeRef = clusterv1.MachineNodeReference{}
				conditions.Set(o.Machines[1], metav1.Condition{Type: clusterv1.MachineReadyCondition, Status: metav1.ConditionFalse, Reason: "NoNode"})
			},
			"Machine no-node-cp-1 has no Node: see its condition NodeHealthy"),
		notBalanced("two-providers", faultlinev1.ReasonInfrastructureMachineUnexpected,
			func(o *Objects) { o.Machines[1].Spec.InfrastructureRef.Kind = "AnotherMachine" },
			"Machine two-providers-cp-1 has no infrastructure machine of this provider: replace it with one whose spec.infrastructureRef is a %kind"),
	}
}
