// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/provider"
)

// ControlPlane simulates the KubeadmControlPlane of a Cluster. Cluster is the Cluster's key; the control plane has the same name.
type ControlPlane struct {
	Client  client.Client
	Cluster client.ObjectKey
}

func (p ControlPlane) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Cluster.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: p.Cluster.Name}}
}

// Create creates the KubeadmControlPlane, sets it as the Cluster's controlPlaneRef, and reports it healthy and up to date. Its
// machines are cloned from the template.
func (p ControlPlane) Create(ctx context.Context, replicas int32, template clusterv1.ContractVersionedObjectReference) error {
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: p.meta(p.Cluster.Name)}
	kcp.Spec.Replicas, kcp.Spec.Version = ptr.To(replicas), "v1.36.0"
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef = template
	if err := p.Client.Create(ctx, kcp); err != nil {
		return fmt.Errorf("creating KubeadmControlPlane %s: %w", kcp.Name, err)
	}
	cluster := &clusterv1.Cluster{}
	if err := p.Client.Get(ctx, p.Cluster, cluster); err != nil {
		return fmt.Errorf("reading Cluster %s: %w", p.Cluster.Name, err)
	}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: kcp.Name}
	if err := p.Client.Update(ctx, cluster); err != nil {
		return fmt.Errorf("naming the control plane of Cluster %s: %w", p.Cluster.Name, err)
	}
	return p.Report(ctx, true)
}

// Report sets the control plane's conditions to healthy, and to up to date or rolling out.
func (p ControlPlane) Report(ctx context.Context, upToDate bool) error {
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: p.meta(p.Cluster.Name)}
	return p.status(ctx, kcp, func() {
		kcp.Status.ObservedGeneration = kcp.Generation
		set(kcp, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, true)
		set(kcp, controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition, true)
		set(kcp, controlplanev1.KubeadmControlPlaneMachinesUpToDateCondition, upToDate)
		set(kcp, controlplanev1.KubeadmControlPlaneRollingOutCondition, !upToDate)
	})
}

// Joined sets a Machine's nodeRef and reports it Ready and up to date.
func (p ControlPlane) Joined(ctx context.Context, name string) error {
	machine := &clusterv1.Machine{ObjectMeta: p.meta(name)}
	return p.status(ctx, machine, func() {
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		set(machine, clusterv1.MachineReadyCondition, true)
		set(machine, clusterv1.MachineUpToDateCondition, true)
	})
}

// Notice reports a Machine, and with it the control plane, as not up to date.
func (p ControlPlane) Notice(ctx context.Context, name string) error {
	machine := &clusterv1.Machine{ObjectMeta: p.meta(name)}
	if err := p.status(ctx, machine, func() { set(machine, clusterv1.MachineUpToDateCondition, false) }); err != nil {
		return err
	}
	return p.Report(ctx, false)
}

// CopyDomains copies the failure domains that an infrastructure cluster publishes to the Cluster.
func (p ControlPlane) CopyDomains(ctx context.Context, from provider.Cluster) error {
	cluster := &clusterv1.Cluster{ObjectMeta: p.meta(p.Cluster.Name)}
	return p.status(ctx, cluster, func() { cluster.Status.FailureDomains = *from.FailureDomains() })
}

func set(object conditions.Setter, condition string, is bool) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	conditions.Set(object, metav1.Condition{Type: condition, Status: status, Reason: "Played"})
}

func (p ControlPlane) status(ctx context.Context, object client.Object, change func()) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return p.Client.Status().Update(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("reporting on %T %s: %w", object, object.GetName(), err)
	}
	return nil
}
