// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// server is a manager that serves webhooks.
type server struct {
	ctrl.Manager
	webhooks webhook.Server
}

func (s server) GetWebhookServer() webhook.Server { return s.webhooks }

func (server) GetConfig() *rest.Config { return &rest.Config{} }

func (server) GetScheme() *runtime.Scheme { return runtime.NewScheme() }

func (server) GetConverterRegistry() conversion.Registry { return conversion.NewRegistry() }

func TestSetupError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	setup := func(kinds ...rules.Kind) error {
		return rules.Setup(server{webhooks: webhook.NewServer(webhook.Options{})}, kinds...)
	}
	g.Expect(setup()).To(Succeed())
	g.Expect(setup(rules.Webhooks[*clusterv1.Machine]{})).To(MatchError(HavePrefix("setting up webhooks of Machine: ")), "the scheme does not have it")
}

// webhooks returns an error for the cluster "bad" and for a changed version, and a warning for a deadline.
func webhooks() rules.Webhooks[*clusterv1.Machine] {
	spec := field.NewPath("spec")
	return rules.Webhooks[*clusterv1.Machine]{
		Validate: func(m *clusterv1.Machine) (errs field.ErrorList) {
			if m.Spec.ClusterName == "bad" {
				errs = append(errs, field.Invalid(spec.Child("clusterName"), m.Spec.ClusterName, "is bad"))
			}
			return errs
		},
		Warn: func(m *clusterv1.Machine) (warnings admission.Warnings) {
			if m.Spec.ProviderID != "" {
				warnings = append(warnings, rules.Warning(spec.Child("providerID"), "is %s", m.Spec.ProviderID))
			}
			return warnings
		},
		Change: func(before, after *clusterv1.Machine) field.ErrorList {
			return rules.Changed(&before.Spec, &after.Spec, spec, "make another", "clusterName", "providerID")
		},
	}
}

func machine(cluster, providerID, version string) *clusterv1.Machine {
	m := &clusterv1.Machine{Spec: clusterv1.MachineSpec{ClusterName: cluster, ProviderID: providerID, Version: version}}
	m.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
	m.Name = "a"
	return m
}

func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	g, ctx, w := NewWithT(t), t.Context(), webhooks()
	warnings, err := w.ValidateCreate(ctx, machine("bad", "b", ""))
	g.Expect(warnings).To(ConsistOf("spec.providerID: is b"))
	g.Expect(err).To(MatchError(`Machine.cluster.x-k8s.io "a" is invalid: spec.clusterName: Invalid value: "bad": is bad`))
	for name, tc := range map[string]struct {
		before, after  *clusterv1.Machine
		warnings, errs []string
	}{
		"as it was":     {before: machine("bad", "b", "v1"), after: machine("bad", "b", "v1")},
		"a new error":   {before: machine("good", "b", "v1"), after: machine("bad", "b", "v1"), errs: []string{"spec.clusterName: Invalid value"}},
		"a new warning": {before: machine("bad", "b", "v1"), after: machine("bad", "c", "v1"), warnings: []string{"spec.providerID: is c"}},
		"a change":      {before: machine("bad", "b", "v1"), after: machine("bad", "b", "v2"), errs: []string{"spec.version: Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			warnings, err := w.ValidateUpdate(ctx, tc.before, tc.after)
			g.Expect(warnings).To(ConsistOf(tc.warnings))
			g.Expect(rulestest.Causes(err)).To(ConsistOf(tc.errs))
		})
	}
	_, err = w.ValidateDelete(ctx, machine("bad", "b", "v1"))
	g.Expect(err).NotTo(HaveOccurred(), "every object can be deleted")
}

func TestCreateAndUpdateRules(t *testing.T) {
	t.Parallel()
	g, ctx, w, fails := NewWithT(t), t.Context(), webhooks(), errors.New("cannot be read")
	rule := func(_ context.Context, m *clusterv1.Machine) (admission.Warnings, field.ErrorList, error) {
		if m.Spec.Version == "unknown" {
			return nil, nil, fails
		}
		return admission.Warnings{"more"}, field.ErrorList{field.Forbidden(field.NewPath("metadata"), "more")}, nil
	}
	w.Create, w.Delete = rule, rule
	w.Update = func(ctx context.Context, _, after *clusterv1.Machine) (admission.Warnings, field.ErrorList, error) {
		return rule(ctx, after)
	}
	is, unknown := machine("bad", "b", ""), machine("bad", "b", "unknown")
	for name, tc := range map[string]struct {
		validate func(*clusterv1.Machine) (admission.Warnings, error)
		others   []string
	}{
		"create": {func(m *clusterv1.Machine) (admission.Warnings, error) { return w.ValidateCreate(ctx, m) }, []string{"spec.clusterName: Invalid value"}},
		"update": {func(m *clusterv1.Machine) (admission.Warnings, error) {
			return w.ValidateUpdate(ctx, machine("good", "", ""), m)
		},
			[]string{"spec.clusterName: Invalid value"}},
		"delete": {func(m *clusterv1.Machine) (admission.Warnings, error) { return w.ValidateDelete(ctx, m) }, nil},
	} {
		warnings, err := tc.validate(is)
		g.Expect(warnings).To(ContainElement("more"), name)
		g.Expect(rulestest.Causes(err)).To(ConsistOf(append(tc.others, "metadata: Forbidden")), name)
		_, err = tc.validate(unknown)
		g.Expect(err).To(MatchError(fails), name)
	}
}
