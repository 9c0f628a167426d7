//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replaceControlPlane rolls out all control-plane machines.
func (m Managed) replaceControlPlane(ctx context.Context) error {
	plane := &controlplanev1.KubeadmControlPlane{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, plane); err != nil {
		return err
	}
	was := plane.DeepCopy()
	plane.Spec.Rollout.After = metav1.Now()
	return m.Client.Patch(ctx, plane, client.MergeFrom(was))
}

// machineTemplate is a machine template of the provider.
type machineTemplate struct{ Kind, Name string }

// replaceWorkers gives a MachineDeployment a copy of a template in upstream's v1beta1 with one field changed.
func (m Managed) replaceWorkers(ctx context.Context, deployment string, like machineTemplate, value any, field ...string) error {
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(infraGroup + "/v1beta1")
	template.SetKind(like.Kind)
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: like.Name}, template); err != nil {
		return err
	}
	next := &unstructured.Unstructured{Object: map[string]any{"spec": template.Object["spec"]}}
	next.SetGroupVersionKind(template.GroupVersionKind())
	next.SetNamespace(Namespace)
	next.SetName(deployment + "-next")
	if err := unstructured.SetNestedField(next.Object, value, append([]string{"spec", "template", "spec"}, field...)...); err != nil {
		return err
	}
	if err := m.Client.Create(ctx, next); err != nil {
		return err
	}
	object := &clusterv1.MachineDeployment{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: deployment}, object); err != nil {
		return err
	}
	had := object.DeepCopy()
	object.Spec.Template.Spec.InfrastructureRef.Name = next.GetName()
	return m.Client.Patch(ctx, object, client.MergeFrom(had))
}

// remediate makes a worker of a MachineDeployment fail its MachineHealthCheck, and returns its name.
func (m Managed) remediate(ctx context.Context, workers string) (string, error) {
	machines := &clusterv1.MachineList{}
	if err := m.Client.List(ctx, machines, client.InNamespace(Namespace), client.MatchingLabels{"workers": workers}); err != nil {
		return "", err
	}
	if len(machines.Items) != 1 {
		return "", fmt.Errorf("there are %d machines of MachineDeployment %s, not 1", len(machines.Items), workers)
	}
	unhealthy := &machines.Items[0]
	was := unhealthy.DeepCopy()
	metav1.SetMetaDataAnnotation(&unhealthy.ObjectMeta, clusterv1.RemediateMachineAnnotation, "")
	return unhealthy.Name, m.Client.Patch(ctx, unhealthy, client.MergeFrom(was))
}
