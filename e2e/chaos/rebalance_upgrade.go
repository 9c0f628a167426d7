// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// addTopology gives the Cluster a topology with the control plane's version.
func (p *controlPlane) addTopology(objects []*unstructured.Unstructured) error {
	version, _, err := unstructured.NestedString(p.object.Object, "spec", "version")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == clusterv1.ClusterKind })
	topology := map[string]any{"classRef": map[string]any{"name": p.name()}, "version": version}
	return unstructured.SetNestedMap(objects[i].Object, topology, "spec", "topology")
}

// createClass creates the ClusterClass of the topology. Its templates do not exist, so that Cluster API's topology controller changes
// nothing, and the test passes the version on. Its controller is paused and would set its status, for which the Cluster's webhook waits.
func (p *controlPlane) createClass(ctx context.Context) error {
	infra := p.infra.GroupVersionKind()
	of := func(gv schema.GroupVersion, kind string) clusterv1.ClusterClassTemplateReference {
		return clusterv1.ClusterClassTemplateReference{APIVersion: gv.String(), Kind: kind + "Template", Name: "none"}
	}
	class := &clusterv1.ClusterClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: p.name(), Annotations: map[string]string{clusterv1.PausedAnnotation: ""}},
		Spec: clusterv1.ClusterClassSpec{
			Infrastructure: clusterv1.InfrastructureClass{TemplateRef: of(infra.GroupVersion(), infra.Kind)},
			ControlPlane: clusterv1.ControlPlaneClass{
				TemplateRef: of(controlplanev1.GroupVersion, p.environment.kind.Facts().Kind.Kind),
				MachineInfrastructure: clusterv1.ControlPlaneClassMachineInfrastructureTemplate{
					TemplateRef: of(infra.GroupVersion(), p.environment.about.MachineKind()),
				},
			},
		},
	}
	if err := provider.Create(ctx, p.client, class); err != nil {
		return err
	}
	before := class.DeepCopy()
	class.Status.ObservedGeneration = class.Generation
	conditions.Set(class, metav1.Condition{
		Type: clusterv1.ClusterClassVariablesReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ClusterClassVariablesReadyReason,
	})
	if err := p.client.Status().Patch(ctx, class, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("setting the status of ClusterClass %s: %w", class.Name, err)
	}
	return nil
}

// announce sets the version of the upgrade in the Cluster's topology, if it has one. Until upgrade, the upgrade is held back, as by a
// hook or by an upgrade of workers.
func (p *controlPlane) announce(ctx context.Context, _ step) error {
	if !p.hasTopology() || p.announced {
		return nil
	}
	p.announced = true
	p.recorder.done(ctx, announce, func(m *moment) { m.heldBack = true })
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: p.name()}}
	return p.patch(ctx, cluster, map[string]any{"spec": map[string]any{"topology": map[string]any{"version": p.environment.kind.upgraded}}})
}
