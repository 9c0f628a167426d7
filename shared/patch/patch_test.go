// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/shared/patch"
)

// requests records the patches that are sent. The integration tests show how an API server applies them.
type requests struct {
	spec, status []map[string]any
	fail         error
}

func (r *requests) client(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	note := func(list *[]map[string]any, obj client.Object, p client.Patch) error {
		data, err := p.Data(obj)
		if err != nil {
			return err
		}
		sent := map[string]any{}
		*list = append(*list, sent)
		return json.Unmarshal(data, &sent)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&clusterv1.Machine{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				err := errors.Join(r.fail, note(&r.spec, obj, p), c.Patch(ctx, obj, p, opts...))
				obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "an API server answers with these"}})
				return err
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				return errors.Join(note(&r.status, obj, p), c.SubResource(sub).Patch(ctx, obj, p, opts...))
			},
		}).Build()
}

func stored(t *testing.T, c client.Client) *clusterv1.Machine {
	t.Helper()
	machine := &clusterv1.Machine{}
	NewWithT(t).Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "machine"}, machine)).To(Succeed())
	return machine
}

func newMachine() *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "machine", Finalizers: []string{"example.com/other"}}}
}

func TestApply(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change         func(*clusterv1.Machine)
		spec, status   int
		conditionsOnly bool
	}{
		"nothing":        {func(*clusterv1.Machine) {}, 0, 0, false},
		"there and back": {func(machine *clusterv1.Machine) { machine.Labels = map[string]string{} }, 0, 0, false},
		"metadata": {func(machine *clusterv1.Machine) {
			machine.Finalizers = append(machine.Finalizers, clusterv1.MachineFinalizer)
		}, 1, 0, false},
		"spec":       {func(machine *clusterv1.Machine) { machine.Spec.ProviderID = "42" }, 1, 0, false},
		"status":     {func(machine *clusterv1.Machine) { machine.Status.FailureDomain = "a" }, 0, 1, false},
		"conditions": {setCondition, 0, 1, true},
		"conditions and spec": {func(machine *clusterv1.Machine) {
			machine.Spec.ProviderID = "42"
			setCondition(machine)
		}, 1, 1, false},
		"conditions and status": {func(machine *clusterv1.Machine) {
			machine.Status.FailureDomain = "a"
			setCondition(machine)
		}, 0, 1, false},
		"all of it": {func(machine *clusterv1.Machine) {
			machine.Annotations, machine.Spec.ProviderID, machine.Status.Phase = map[string]string{"a": "b"}, "42", "Running"
		}, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			sent := &requests{}
			c := sent.client(t, newMachine())
			machine := stored(t, c)
			p := patch.From(machine)
			tc.change(machine)
			g.Expect(p.ConditionsOnly(machine)).To(Equal(tc.conditionsOnly))
			g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
			g.Expect(sent.spec).To(HaveLen(tc.spec))
			g.Expect(sent.status).To(HaveLen(tc.status))
			g.Expect(stored(t, c).Spec).To(Equal(machine.Spec))
			g.Expect(stored(t, c).Status).To(Equal(machine.Status))
			g.Expect(stored(t, c).Finalizers).To(Equal(machine.Finalizers))
			g.Expect(machine.ResourceVersion).To(Equal(stored(t, c).ResourceVersion), "it is known which version was written last")
		})
	}
}

func setCondition(machine *clusterv1.Machine) {
	machine.Status.Conditions = []metav1.Condition{{Type: "Said", Status: metav1.ConditionTrue, Reason: "Said"}}
}

// Deleting a condition from an object that has no status yet leaves an empty list.
func TestEmptyStatusIsNotSent(t *testing.T) {
	t.Parallel()
	g, machine, sent := NewWithT(t), newMachine(), &requests{}
	c := sent.client(t, machine)
	p := patch.From(machine)
	machine.Status.Conditions = []metav1.Condition{}
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(sent.status).To(BeEmpty())
}

func TestApplySharedLists(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newMachine())
	machine := stored(t, c)
	read := machine.ResourceVersion
	p := patch.From(machine)
	machine.Finalizers, machine.Status.FailureDomain = []string{clusterv1.MachineFinalizer}, "a"
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(sent.spec[0]["metadata"]).To(HaveKeyWithValue("resourceVersion", read))
	g.Expect(sent.status[0]).NotTo(HaveKey("metadata"), "the status is one controller's own")
}

func TestApplyAgainSendsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newMachine())
	machine := stored(t, c)
	p := patch.From(machine)
	machine.Spec.ProviderID, machine.Status.FailureDomain = "42", "a"
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(sent.spec).To(HaveLen(1))
	g.Expect(sent.status).To(HaveLen(1))
	machine.Status.FailureDomain, machine.Status.Phase = "", "Running"
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(sent.status[1]).To(Equal(map[string]any{"status": map[string]any{"failureDomain": nil, "phase": "Running"}}))
	g.Expect(stored(t, c).Status.FailureDomain).To(BeEmpty())
}

// If the cache drops managed fields, those in the response must not look like a change.
func TestApplyAfterApplySpecSendsTheStatusOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newMachine())
	machine := stored(t, c)
	p := patch.From(machine)
	machine.Finalizers, machine.Status.Phase = []string{clusterv1.MachineFinalizer}, "Running"
	g.Expect(p.ApplySpec(t.Context(), c, machine)).To(Succeed())
	g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	g.Expect(sent.spec).To(HaveLen(1))
	g.Expect(sent.status).To(HaveLen(1))
}

// The status must not report what the spec should have stored: it is sent second, and not at all if the first request was
// rejected.
func TestRepeatedErrorIsWrittenOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newMachine())
	for _, port := range []string{"33052", "33060", "33071"} {
		machine := stored(t, c)
		p := patch.From(machine)
		conditions.Set(machine, metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "Unreachable",
			Message: "asking https://harvester: read tcp 10.0.0.5:" + port + "->10.0.0.9:443: read: connection reset by peer"})
		g.Expect(p.Apply(t.Context(), c, machine)).To(Succeed())
	}
	g.Expect(sent.status).To(HaveLen(1))
	g.Expect(conditions.GetMessage(stored(t, c), "Available")).To(Equal("asking https://harvester: read tcp: read: connection reset by peer"))
}

func TestApplyStopsAtFirstError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	refusal := errors.New("refused")
	sent := &requests{fail: refusal}
	c := sent.client(t, newMachine())
	machine := stored(t, c)
	p := patch.From(machine)
	machine.Spec.ProviderID, machine.Status.FailureDomain = "42", "a"
	g.Expect(p.Apply(t.Context(), c, machine)).To(MatchError(refusal))
	g.Expect(sent.status).To(BeEmpty())
}

func TestSharedConditions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sent := &requests{}
	c := sent.client(t, newMachine())
	mine, others := stored(t, c), stored(t, c)
	p, q := patch.From(mine), patch.From(others)
	p.SharedConditions = true
	others.Status.Conditions = []metav1.Condition{{Type: "Others", Status: metav1.ConditionTrue, Reason: "Set"}}
	g.Expect(q.Apply(t.Context(), c, others)).To(Succeed())

	mine.Status.Conditions = []metav1.Condition{{Type: "Mine", Status: metav1.ConditionTrue, Reason: "Set"}}
	g.Expect(apierrors.IsConflict(p.Apply(t.Context(), c, mine))).To(BeTrue())
	g.Expect(stored(t, c).Status.Conditions).To(HaveLen(1))

	mine.Status.Conditions, mine.Status.Phase = nil, "Running"
	g.Expect(p.Apply(t.Context(), c, mine)).To(Succeed(), "what only one controller writes needs no version")
}
