// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

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

// Row is one user error with the expected reaction.
type Row struct {
	// Name describes the error, and is the name of the cluster.
	Name string
	// ControlPlane and Workers define the placement of machines, with one letter each: a, b or c for its failure domain, or - for
	// a worker that waits for one.
	ControlPlane, Workers string
	// Change makes the error.
	Change func(*Objects)
	// Refused lists parts of the error if the API server rejects the objects; empty if it accepts them.
	Refused []string

	// Condition is the condition of the infrastructure cluster that reports it, with Status and Reason.
	Condition string
	Status    metav1.ConditionStatus
	Reason    string
	// Message lists parts of its message: the problem and the fix. %a, %b and %c stand for the names of the failure domains, %kind
	// for the kind of infrastructure machines.
	Message []string
	// Plan lists parts of the output of kubectl fd plan; if empty, Message is used.
	Plan []string
	// Moves is true if there is no error, and machines are moved.
	Moves bool
}

// Run runs all rows in parallel. When each has its condition, it checks all of them again: no machine may have been moved.
func (e *Environment) Run(t *testing.T, rows []Row) {
	t.Helper()
	objects := make([]*Objects, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				objects[i] = e.runRow(t, row)
			})
		}
	})
	for i, row := range rows {
		if objects[i] != nil && !row.Moves {
			objects[i].untouched(t)
		}
	}
}

// runRow returns nil for a cluster that was rejected.
func (e *Environment) runRow(t *testing.T, row Row) *Objects {
	t.Helper()
	if e.AcceptsAll && len(row.Refused) > 0 {
		return nil
	}
	o := e.objects(row.Name, row.ControlPlane, row.Workers)
	row.Change(o)
	if len(row.Refused) > 0 {
		err := e.Client.Create(t.Context(), o.Infra)
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
		for _, part := range row.Message {
			g.Expect(condition.Message).To(gomega.ContainSubstring(e.named(part)))
		}
	})
	if e.Shown != nil {
		e.Shown(t, o, e.plan(row))
	}
	return o
}

// plan returns the expected output of kubectl fd plan for a row.
func (e *Environment) plan(row Row) []string {
	says := row.Plan
	if len(says) == 0 {
		says = row.Message
	}
	named := make([]string, len(says))
	for i := range says {
		named[i] = e.named(says[i])
	}
	return named
}

// untouched fails the test if any machine was changed, or if a change is recorded.
func (o *Objects) untouched(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	get := func(object client.Object) {
		t.Helper()
		g.Expect(o.environment.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(gomega.Succeed())
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
		if _, controlPlane := now.Labels[clusterv1.MachineControlPlaneLabel]; controlPlane { // workers are always marked
			g.Expect(maps.Equal(now.Annotations, before.Annotations)).To(gomega.BeTrue(), "%s: %v", now.Name, now.Annotations)
		}
	}
}

// named inserts the names of the failure domains into a text.
func (e *Environment) named(text string) string {
	return strings.NewReplacer("%a", e.Domains[0], "%b", e.Domains[1], "%c", e.Domains[2], "%kind", e.MachineKind).Replace(text)
}

// Rows returns all rows.
func Rows() []Row {
	return slices.Concat(ofIntents(), ofControlPlanes(), ofMachines(), ofWorkers(), ofLogicalDomains())
}
