// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// holdAnnotation holds the deletion of a Machine before its Node is drained.
const holdAnnotation = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/storm"

// hold keeps a Machine from being deleted, so that a rollout stops there. It is often a moving machine.
func (p *controlPlane) hold(ctx context.Context, s step) error {
	from := p.recorder.last().machines
	if moving := slices.DeleteFunc(slices.Clone(from), func(is machine) bool { return !is.touched() }); len(moving) > 0 && s.pick%moved > 0 {
		from = moving
	}
	is, ok := picked(s, from)
	if p.held != "" || !ok {
		return nil
	}
	p.held = is.name
	p.recorder.done(ctx, "hold "+is.name, nil)
	return ignoreLost(p.patchMachine(ctx, is.name, annotated(holdAnnotation, "")))
}

// removeHook removes the hold.
func (p *controlPlane) removeHook(ctx context.Context) error {
	if p.held == "" {
		return nil
	}
	name := p.held
	p.held = ""
	p.recorder.done(ctx, "remove hook of "+name, nil)
	return ignoreLost(p.patchMachine(ctx, name, annotated(holdAnnotation, nil)))
}

// addTopology gives the Cluster a topology with the control plane's version.
func (p *controlPlane) addTopology(objects []*unstructured.Unstructured) error {
	of := func(kind string) *unstructured.Unstructured {
		return objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })]
	}
	version, _, err := unstructured.NestedString(of(p.environment.kind.Facts().Kind.Kind).Object, "spec", "version")
	if err != nil {
		return err
	}
	topology := map[string]any{"classRef": map[string]any{"name": p.name()}, "version": version}
	return unstructured.SetNestedMap(of(clusterv1.ClusterKind).Object, topology, "spec", "topology")
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
	p.recorder.done(ctx, string(announce), func(s *state) { s.moment.heldBack = true })
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: p.name()}}
	return p.patch(ctx, cluster, map[string]any{"spec": map[string]any{"topology": map[string]any{"version": p.environment.kind.upgraded}}})
}

// stripped returns conditions on the key k of an annotation of a Machine or of an infrastructure cluster. A policy uses one of them.
func stripped() []string {
	ours := "k == '" + faultlinev1.MarkedForMoveAnnotation + "'"
	return []string{
		ours,
		"k == '" + faultlinev1.CurrentMoveAnnotation + "'",
		ours + " || k == '" + clusterv1.DeleteMachineAnnotation + "' && object.metadata.annotations[k].startsWith('" + ourMark + "')",
		"k.startsWith('faultline.io/') || k.startsWith('infrastructure.cluster.x-k8s.io/')",
	}
}

// policy returns a mutating policy for one namespace that removes annotations.
func (p *controlPlane) policy(condition string) (*admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding) {
	meta := metav1.ObjectMeta{Name: p.name()}
	rule := func(group, resource string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
		}}
	}
	clusters := strings.ToLower(p.environment.about.ClusterKind) + "s"
	return &admissionv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: p.name()}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{
					rule(clusterv1.GroupVersion.Group, "machines"), rule("infrastructure.cluster.x-k8s.io", clusters),
				},
			},
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
				Expression: "has(object.metadata.annotations) ? object.metadata.annotations.filter(k, " + condition + ")" +
					".map(k, JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)}) : []",
			}}},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		}}, &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name,
		}}
}

// strip makes a policy remove annotations that Faultline writes.
func (p *controlPlane) strip(ctx context.Context, s step) error {
	if p.stripping {
		return nil
	}
	condition, _ := picked(s, stripped())
	policy, binding := p.policy(condition)
	p.stripping = true
	p.recorder.done(ctx, "strip "+condition, func(s *state) { s.moment.strippedUntil = time.Now().Add(mostLimit) })
	return provider.Create(ctx, p.client, policy, binding)
}

// keep deletes the policy. The API server applies it for a moment longer; annotations that it removes then are detected later.
func (p *controlPlane) keep(ctx context.Context) error {
	if !p.stripping {
		return nil
	}
	policy, binding := p.policy("")
	if err := errors.Join(p.client.Delete(ctx, binding), p.client.Delete(ctx, policy)); err != nil {
		return fmt.Errorf("removing the policy: %w", err)
	}
	p.stripping = false
	until := time.Now().Add(lag)
	p.recorder.done(ctx, "keep", func(s *state) { s.moment.strippedUntil = until })
	return nil
}

// removed reports whether no move begins because annotations were removed before.
func (m moment) removed() bool {
	return m.balanced.Status == metav1.ConditionFalse && m.balanced.Reason == faultlinev1.ReasonAnnotationsRemoved && !m.at.Before(m.strippedUntil)
}

// triggerReconcile does what the condition asks for after the policy is deleted: it changes a condition of the control plane, or the
// failure domains if a pause changes no condition.
func (p *controlPlane) triggerReconcile(ctx context.Context) error {
	if !p.environment.kind.pauseReported {
		return p.changeDomains(ctx)
	}
	for _, act := range []act{pause, resume} {
		if err := p.changeControlPlane(ctx, step{act: act}); err != nil {
			return err
		}
		if err := provider.Pause(ctx, askedFor); err != nil {
			return err
		}
	}
	return nil
}

// changeDomains cordons an Active failure domain for a moment.
func (p *controlPlane) changeDomains(ctx context.Context) error {
	i := slices.IndexFunc(p.domainNames(), func(name string) bool { return p.intended(name) == faultlinev1.DomainActive })
	for _, state := range []faultlinev1.DomainState{faultlinev1.DomainCordoned, faultlinev1.DomainActive} {
		if err := p.intend(ctx, p.domainNames()[i], state); err != nil {
			return err
		}
		if err := p.await(ctx, restLimit, "waiting for the intended failure domains", p.asIntended); err != nil {
			return err
		}
	}
	return nil
}

func (p *controlPlane) patchMachine(ctx context.Context, name string, change map[string]any) error {
	return p.patch(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.name(), Name: name}}, change)
}
