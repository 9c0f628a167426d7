// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubeadm is the kind KubeadmControlPlane.
type Kubeadm struct{}

// Facts implements ControlPlaneKind. Patches before OldestTested are excluded because they could remove an etcd member that was
// about to join. e2e/controlplane_test.go checks the behavior of the provider's code: review it before you change OldestTested.
func (Kubeadm) Facts() ControlPlaneFacts {
	return ControlPlaneFacts{
		Kind:     controlplanev1.GroupVersion.WithKind("KubeadmControlPlane").GroupKind(),
		Provider: "kubeadm", OldestTested: "v1.14.2", Surge: "spec.rollout.strategy.rollingUpdate.maxSurge",
		RolloutAfter: func(o client.Object) *metav1.Time { return &o.(*controlplanev1.KubeadmControlPlane).Spec.Rollout.After },
	}
}

// New implements ControlPlaneKind. The CRD is a requirement of the providers.
func (Kubeadm) New(meta.RESTMapper) (client.Object, error) {
	return &controlplanev1.KubeadmControlPlane{}, nil
}

// ProtectsQuorum implements ControlPlaneKind.
func (Kubeadm) ProtectsQuorum(client.Object) bool { return true }

// Observe implements ControlPlaneKind.
func (k Kubeadm) Observe(object client.Object) (ControlPlane, error) {
	kcp, is := object.(*controlplanev1.KubeadmControlPlane)
	if !is {
		return ControlPlane{}, fmt.Errorf("reading a KubeadmControlPlane from %T", object)
	}
	template := kcp.Spec.MachineTemplate.Spec.InfrastructureRef
	cp := ControlPlane{
		Kind: k, Name: "KubeadmControlPlane " + kcp.Name, Paused: annotations.HasPaused(kcp), Deleting: !kcp.DeletionTimestamp.IsZero(),
		Replicas: int(ptr.Deref(kcp.Spec.Replicas, 1)), Observed: kcp.Status.ObservedGeneration == kcp.Generation, MaxSurge: 1,
		Remediation:  remediationOf(kcp.Annotations),
		ExternalEtcd: len(kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.Endpoints) > 0,
		RolloutAfter: kcp.Spec.Rollout.After.Time, Template: template.Name, TemplateKind: template.GroupKind().String(), Kubernetes: kcp.Spec.Version,
	}
	cp.setConditions(kcp.Status.Conditions)
	if surge := kcp.Spec.Rollout.Strategy.RollingUpdate.MaxSurge; surge != nil {
		cp.MaxSurge = surge.IntValue()
	}
	return cp, nil
}
