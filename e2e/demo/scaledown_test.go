// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	spreading "github.com/faultline-io/faultline/shared/spread"
)

const (
	// scaledWorkers is four in each of three failure domains.
	scaledWorkers = 12
	// markedAhead is the maximum number of marked machines.
	markedAhead = 10
	// scaleLimit allows for a busy machine; an idle one takes seconds.
	scaleLimit = 3 * time.Minute
)

// testScaleDown makes Cluster API's own MachineSet remove several machines at once, which it chooses as soon as it observes its new size:
// twice some of the marked ones, then all of them.
func testScaleDown(t *testing.T, d *demo) {
	t.Helper()
	w := &scaledDeployment{WithT: NewWithT(t), demo: d, key: client.ObjectKey{Namespace: d.cluster.Namespace, Name: d.cluster.Name + "-scaled"}}
	w.create(t.Context())
	before := w.settled(t.Context(), scaledWorkers)
	for _, most := range []int{3, 3, markedAhead} {
		marked := len(before.marked)
		by := min(most, marked)
		w.Expect(by).To(BeNumerically(">", 1), "several at once")
		stay := len(before.places) - by
		w.scale(t.Context(), stay)
		after := w.settled(t.Context(), stay)
		t.Logf("%d of %d machines were removed, %d of them were marked: %v are left", by, len(before.places), marked, after.sizes())
		for machine, place := range after.places {
			w.Expect(before.places).To(HaveKeyWithValue(machine, place), "no machine was replaced")
		}
		before = after
	}
}

// scaledDeployment is a MachineDeployment whose machines are spread, and never moved.
type scaledDeployment struct {
	*WithT

	demo *demo
	key  client.ObjectKey
}

func (w *scaledDeployment) client() client.Client { return w.demo.Management.Client }

// create enables spreading of workers in the cluster, and creates some from the templates of its other workers.
func (w *scaledDeployment) create(ctx context.Context) {
	cluster := &clusterv1.Cluster{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client().Get(ctx, w.demo.cluster, cluster)).To(Succeed())
		i := slices.IndexFunc(cluster.Spec.Topology.Variables, func(v clusterv1.ClusterVariable) bool { return v.Name == "rebalance" })
		g.Expect(i).To(BeNumerically(">=", 0))
		cluster.Spec.Topology.Variables[i].Value.Raw = []byte(`{"spreadWorkers":true}`)
		g.Expect(w.client().Update(ctx, cluster)).To(Succeed())
	}).WithTimeout(scaleLimit).Should(Succeed())
	w.Eventually(func(g Gomega) {
		infra, err := external.GetObjectFromContractVersionedRef(ctx, w.client(), cluster.Spec.InfrastructureRef, cluster.Namespace)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conditionText(infra, faultlinev1.WorkersBalancedCondition)).NotTo(BeEmpty(), "the manager knows")
	}).WithTimeout(scaleLimit).Should(Succeed())

	others := &clusterv1.MachineDeploymentList{}
	w.Expect(w.client().List(ctx, others, client.InNamespace(w.key.Namespace))).To(Succeed())
	w.Expect(others.Items).NotTo(BeEmpty())
	md := w.deployment()
	md.Spec.ClusterName, md.Spec.Replicas = cluster.Name, new(int32(scaledWorkers))
	others.Items[0].Spec.Template.Spec.DeepCopyInto(&md.Spec.Template.Spec)
	md.Spec.Template.Spec.FailureDomain = ""
	w.Expect(w.client().Create(ctx, md)).To(Succeed())
}

func (w *scaledDeployment) deployment() *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}}
}

func (w *scaledDeployment) scale(ctx context.Context, replicas int) {
	body := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	w.Expect(w.client().Patch(ctx, w.deployment(), client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
}

// staying holds the machines of a MachineDeployment that are not being removed.
type staying struct {
	// places maps machines to their failure domains in the infrastructure.
	places map[string]string
	marked []string
	state  spreading.Cluster
}

// sizes returns the number of machines in each failure domain, sorted.
func (s staying) sizes() []int {
	sizes := make([]int, len(s.state.Domains))
	for _, domain := range s.places {
		sizes[slices.IndexFunc(s.state.Domains, func(d failuredomain.Domain) bool { return d.Name == domain })]++
	}
	slices.Sort(sizes)
	return sizes
}

// settled waits until replicas machines stay, which must be spread immediately, and until those are marked that the planner selects.
func (w *scaledDeployment) settled(ctx context.Context, replicas int) (now staying) {
	w.Eventually(func(g Gomega) {
		now = w.observe(ctx, g)
		g.Expect(now.places).To(HaveLen(replicas))
		if sizes := now.sizes(); sizes[len(sizes)-1]-sizes[0] > 1 {
			StopTrying("the machines that stay are not spread").Attach("machines", now.places).Now()
		}
		chosen, err := spreading.Marks(now.state, w.key.Name, now.marked, markedAhead, 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(now.marked).To(ConsistOf(chosen))
	}).WithTimeout(scaleLimit).Should(Succeed())
	return now
}

// observe expects every staying machine to be available.
func (w *scaledDeployment) observe(ctx context.Context, g Gomega) staying {
	placements, err := w.demo.infrastructure.Machines(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	outside := map[string]string{}
	for _, p := range placements {
		outside[p.Name] = p.Domain
	}
	list := &clusterv1.MachineList{}
	g.Expect(w.client().List(ctx, list, client.InNamespace(w.key.Namespace), client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: w.key.Name})).To(Succeed())
	now := staying{places: map[string]string{}}
	for _, domain := range w.demo.about.Domains {
		now.state.Domains = append(now.state.Domains, failuredomain.Domain{Name: domain, State: failuredomain.Active})
	}
	for i := range list.Items {
		m := &list.Items[i]
		if !m.DeletionTimestamp.IsZero() {
			continue
		}
		g.Expect(conditions.IsTrue(m, clusterv1.MachineAvailableCondition)).To(BeTrue(), "Machine %s", m.Name)
		domain := outside[m.Spec.InfrastructureRef.Name]
		g.Expect(w.demo.about.Domains).To(ContainElement(domain))
		now.places[m.Name] = domain
		if _, marked := m.Annotations[clusterv1.DeleteMachineAnnotation]; marked {
			now.marked = append(now.marked, m.Name)
		}
		now.state.Machines = append(now.state.Machines, spreading.Machine{
			Name: m.Name, Deployment: w.key.Name, Domain: domain, Exists: true, Created: m.CreationTimestamp.Time,
		})
	}
	return now
}
