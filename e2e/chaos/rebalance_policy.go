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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

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
	until := time.Now().Add(mostLimit)
	p.recorder.done(ctx, "strip "+condition, func(m *moment) { m.strippedUntil = until })
	return provider.Create(ctx, p.client, policy, binding)
}

// keep deletes the policy. The API server applies it for a moment longer; annotations that it removes then are detected later.
func (p *controlPlane) keep(ctx context.Context, _ step) error {
	if !p.stripping {
		return nil
	}
	policy, binding := p.policy("")
	if err := errors.Join(p.client.Delete(ctx, binding), p.client.Delete(ctx, policy)); err != nil {
		return fmt.Errorf("removing the policy: %w", err)
	}
	p.stripping = false
	until := time.Now().Add(lag)
	p.recorder.done(ctx, "keep", func(m *moment) { m.strippedUntil = until })
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
	for _, do := range []func(context.Context, step) error{p.pause, p.resume} {
		if err := do(ctx, step{}); err != nil {
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
