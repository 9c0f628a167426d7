// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// Move tests that one machine of a control plane moves to a failure domain that is added.
type Move struct {
	User
	// Infra is a cluster without machines that publishes the two Domains and has rebalancing enabled for its control plane.
	Infra   provider.Cluster
	Domains [2]string
	// Template is the kind of the templates from which machines are cloned.
	Template string
	// Member creates an infrastructure machine of the control plane with these annotations, and its Machine, and waits until it
	// is provisioned.
	Member func(name, domain string, annotations map[string]string) client.Object
	// Add makes the cluster publish one more failure domain.
	Add func() (domain string)
}

// Run creates three machines, two of them in the first domain, adds the domain, and simulates the control plane that replaces
// one.
func (m Move) Run() {
	m.T.Helper()
	ctx, plane := m.T.Context(), providertest.ControlPlane{Client: m.Client, Cluster: client.ObjectKeyFromObject(m.Infra)}
	template := m.reference(m.Infra)
	template.Kind, template.Name = m.Template, "template"
	m.G.Expect(plane.Create(ctx, 3, template)).To(gomega.Succeed())
	member := func(name, domain string) client.Object {
		infra := m.Member(name, domain, map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: "template", clusterv1.TemplateClonedFromGroupKindAnnotation: template.GroupKind().String(),
		})
		m.G.Expect(plane.Joined(ctx, name)).To(gomega.Succeed())
		return infra
	}
	first := member("cp-0", m.Domains[0])
	member("cp-1", m.Domains[0])
	member("cp-2", m.Domains[1])
	m.Condition(m.Infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)

	added := m.Add()
	m.G.Expect(plane.CopyDomains(ctx, m.Infra)).To(gomega.Succeed())
	m.Condition(m.Infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonMoving)
	m.G.Expect(m.Client.Get(ctx, client.ObjectKeyFromObject(first), first)).To(gomega.Succeed())
	m.G.Expect(first.GetAnnotations()).To(gomega.HaveKeyWithValue(clusterv1.TemplateClonedFromNameAnnotation, "template-rebalance"))
	machine := &clusterv1.Machine{}
	m.G.Expect(m.Client.Get(ctx, client.ObjectKeyFromObject(first), machine)).To(gomega.Succeed())
	m.G.Expect(machine.Annotations).To(gomega.HaveKey(clusterv1.DeleteMachineAnnotation))

	m.G.Expect(plane.Notice(ctx, first.GetName())).To(gomega.Succeed())
	member("cp-3", added)
	m.Delete(first)
	m.G.Expect(plane.Report(ctx, true)).To(gomega.Succeed())
	m.Condition(m.Infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)
	_, known := m.Infra.Distribution()
	m.G.Expect(known.ControlPlane.LastMove).To(gomega.HaveValue(gomega.And(
		gomega.HaveField("Machine", first.GetName()), gomega.HaveField("To", added), gomega.HaveField("Replacement", "cp-3"), gomega.HaveField("Phase", faultlinev1.MoveCompleted))))
}
