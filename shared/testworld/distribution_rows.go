// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testworld

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Row is one thing that a user gets wrong.
type Row struct {
	// Name is what is wrong, and the name of the cluster.
	Name string
	// ControlPlane and Workers say where machines are, a letter each: see World.
	ControlPlane, Workers string
	// Change makes it wrong.
	Change func(*Objects)
	// Refused is what an API server says that accepts no such thing; "" for what is accepted.
	Refused []string

	// Condition of the infrastructure cluster that has it, with status and reason.
	Condition string
	Status    metav1.ConditionStatus
	Reason    string
	// Says are parts of its message: what is wrong, and what to do. %a, %b and %c are the names of the failure domains, %kind is that of infrastructure machines.
	Says []string
	// Plan are parts of what kubectl fd plan says; the condition's where there are none.
	Plan []string
	// Moves says that nothing is wrong, and machines are moved.
	Moves bool
}

// Play plays all rows side by side, and looks at all of them again when each has shown its condition: no machine is moved.
func (w *World) Play(t *testing.T, rows []Row) {
	t.Helper()
	played := make([]*Objects, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				played[i] = w.play(t, row)
			})
		}
	})
	for i, row := range rows {
		if played[i] != nil && !row.Moves {
			played[i].untouched(t)
		}
	}
}

// play returns nil for a cluster that was refused.
func (w *World) play(t *testing.T, row Row) *Objects {
	t.Helper()
	if w.AcceptsAll && len(row.Refused) > 0 {
		return nil
	}
	o := w.objects(row.Name, row.ControlPlane, row.Workers)
	row.Change(o)
	if len(row.Refused) > 0 {
		err := w.Client.Create(t.Context(), o.Infra)
		for _, part := range row.Refused {
			gomega.NewWithT(t).Expect(err).To(gomega.MatchError(gomega.ContainSubstring(part)))
		}
		return nil
	}
	o.createAll(t)
	o.eventually(t, func(g gomega.Gomega) {
		condition := conditions.Get(o.Infra, row.Condition)
		g.Expect(condition).NotTo(gomega.BeNil(), "%s", Describe(o.Infra))
		g.Expect(*condition).To(gomega.And(gomega.HaveField("Status", row.Status), gomega.HaveField("Reason", row.Reason)), "%s", Describe(o.Infra))
		for _, part := range row.Says {
			g.Expect(condition.Message).To(gomega.ContainSubstring(w.named(part)))
		}
	})
	if w.Shown != nil {
		w.Shown(t, o, w.plan(row))
	}
	return o
}

// plan is what kubectl fd plan says of a row.
func (w *World) plan(row Row) []string {
	says := row.Plan
	if len(says) == 0 {
		says = row.Says
	}
	named := make([]string, len(says))
	for i := range says {
		named[i] = w.named(says[i])
	}
	return named
}

// untouched fails the test where anything has been done to a machine, or is recorded to be.
func (o *Objects) untouched(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	get := func(object client.Object) {
		t.Helper()
		g.Expect(o.world.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(gomega.Succeed())
	}
	get(o.Infra)
	_, known := o.Infra.Distribution()
	g.Expect(o.Infra.GetAnnotations()).NotTo(gomega.HaveKey(faultlinev1.CurrentMoveAnnotation), o.Name)
	g.Expect(known.ControlPlane.CurrentMove).To(gomega.BeNil(), o.Name)
	for _, workers := range known.Workers {
		g.Expect(workers.CurrentMove).To(gomega.BeNil(), o.Name)
	}
	for i, before := range o.Machines {
		now, infra := before.DeepCopy(), o.Infrastructure[i].DeepCopyObject().(client.Object)
		get(now)
		get(infra)
		g.Expect(now.DeletionTimestamp.IsZero()).To(gomega.BeTrue(), now.Name)
		g.Expect(infra.GetDeletionTimestamp().IsZero()).To(gomega.BeTrue(), now.Name)
		g.Expect(infra.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation]).To(gomega.Equal("template"), now.Name)
		if _, controlPlane := now.Labels[clusterv1.MachineControlPlaneLabel]; controlPlane { // a worker is always marked, for its MachineSet
			g.Expect(maps.Equal(now.Annotations, before.Annotations)).To(gomega.BeTrue(), "%s: %v", now.Name, now.Annotations)
		}
	}
}

// named puts the names of the failure domains into what is said.
func (w *World) named(text string) string {
	return strings.NewReplacer("%a", w.Domains[0], "%b", w.Domains[1], "%c", w.Domains[2], "%kind", w.MachineKind).Replace(text)
}

// Rows are all rows.
func Rows() []Row {
	return slices.Concat(ofIntents(), ofControlPlanes(), ofMachines(), ofWorkers(), ofLogicalDomains())
}
