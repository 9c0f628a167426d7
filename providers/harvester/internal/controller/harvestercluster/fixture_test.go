// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestercluster"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/watch"
)

// fixture is a test's part of the management cluster and of Harvester: a namespace of the same name in each, hosts with its own
// zone label, and a manager restricted to the namespace.
type fixture struct {
	*WithT
	t    *testing.T
	name string // of the namespace in both
	sim  *simulator.Simulator
	// workload is the Cluster whose workload cluster is reachable; "" for none. The management cluster serves as workload cluster.
	workload  string
	consent   owned.Consent
	stop      func()
	harvester client.Client
}

// newFixture creates one host in each zone and starts a manager.
func newFixture(t *testing.T, zones ...string) *fixture {
	t.Helper()
	return newFixtureOn(t, sim, zones...)
}

func newFixtureOn(t *testing.T, sim *simulator.Simulator, zones ...string) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &fixture{WithT: g, t: t, sim: sim, harvester: sim.Client()}
	w.name = integration.NewNamespace(t, user)
	w.host("host", "")
	for _, zone := range zones {
		w.host("host-"+zone, zone)
	}
	w.identity(sim.Kubeconfig())
	w.start()
	return w
}

// start runs a manager until stop or the end of the test.
func (w *fixture) start() {
	w.t.Helper()
	w.stop = integration.Start(w.t, apiServer, user.RESTMapper(), ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}, w.add)
}

func (w *fixture) add(ctx context.Context, mgr ctrl.Manager) error {
	harvesterScheme := runtime.NewScheme()
	if err := harvester.AddToScheme(harvesterScheme); err != nil {
		return err
	}
	connections := harvester.New(ctx, mgr.GetClient(), mgr.GetAPIReader(), harvesterScheme)
	if err := connections.WatchIdentities(ctx, mgr.GetCache()); err != nil {
		return err
	}
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return err
	}
	recorder := &events.FakeRecorder{}
	workloads := clustercache.NewFakeEmptyClusterCache()
	if w.workload != "" {
		workloads = clustercache.NewFakeClusterCache(user, client.ObjectKey{Namespace: w.name, Name: w.workload})
	}
	return (&harvestercluster.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connections: connections, Workloads: workloads, Recorder: recorder, Consent: w.consent,
		Domains: &publish.Publisher{Client: mgr.GetClient(), Recorder: recorder, Clock: clock.RealClock{}, Metrics: metrics},
	}).SetupWithManager(ctx, mgr, "", watch.Concurrency(2))
}

func (w *fixture) zoneKey() string { return w.name + ".example.com/zone" }

// host adds a host to Harvester. Without a zone, it does not get the zone label.
func (w *fixture) host(name, zone string) *corev1.Node {
	w.t.Helper()
	host := simulator.Host{Name: w.name + "-" + name, Labels: map[string]string{}}
	if zone != "" {
		host.Labels[w.zoneKey()] = zone
	}
	w.Expect(w.sim.AddHost(w.t.Context(), host)).To(Succeed())
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.Name}}
}

// identity writes the Secret with the kubeconfig for Harvester.
func (w *fixture) identity(kubeconfig []byte) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: w.meta("identity"), Data: map[string][]byte{infrav1.KubeconfigKey: kubeconfig}}
	if err := user.Update(w.t.Context(), secret); err != nil {
		w.Expect(user.Create(w.t.Context(), secret)).To(Succeed())
	}
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
}

// cluster creates a Cluster with its HarvesterCluster. By default the endpoint is a load balancer with an address from a DHCP server.
func (w *fixture) cluster(name string, changes ...func(*infrav1.HarvesterCluster)) *infrav1.HarvesterCluster {
	w.t.Helper()
	owner := &clusterv1.Cluster{ObjectMeta: w.meta(name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "HarvesterCluster", Name: name},
	}}
	w.Expect(user.Create(w.t.Context(), owner)).To(Succeed())
	cluster := &infrav1.HarvesterCluster{ObjectMeta: w.meta(name)}
	cluster.Labels[clusterv1.ClusterNameLabel] = name
	cluster.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: owner.UID}}
	cluster.Spec = infrav1.HarvesterClusterSpec{
		IdentitySecret: infrav1.SecretKey{Namespace: w.name, Name: "identity"}, TargetNamespace: w.name, FailureDomainTopologyKey: w.zoneKey(),
		LoadBalancerConfig: infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP},
	}
	for _, change := range changes {
		change(cluster)
	}
	w.Expect(user.Create(w.t.Context(), cluster)).To(Succeed())
	return cluster
}

// eventually reads the cluster until holds succeeds.
func (w *fixture) eventually(cluster *infrav1.HarvesterCluster, holds func(Gomega)) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(user.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		holds(g)
	}).Should(Succeed(), "%s", conditionsOf{cluster})
}

// conditionsOf formats the conditions only when a test fails.
type conditionsOf struct{ *infrav1.HarvesterCluster }

func (d conditionsOf) String() string {
	text := &strings.Builder{}
	for _, c := range d.Status.Conditions {
		fmt.Fprintf(text, "\n%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

// waitForProvisioned waits until machines may be created.
func (w *fixture) waitForProvisioned(cluster *infrav1.HarvesterCluster) {
	w.t.Helper()
	w.eventually(cluster, func(g Gomega) {
		g.Expect(cluster.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
		g.Expect(cluster.Status.Ready).To(BeTrue())
	})
}

// waitForReason waits until a condition has the reason, and returns its message.
func (w *fixture) waitForReason(cluster *infrav1.HarvesterCluster, condition, reason string) string {
	w.t.Helper()
	w.eventually(cluster, func(g Gomega) { g.Expect(conditions.GetReason(cluster, condition)).To(Equal(reason)) })
	return conditions.GetMessage(cluster, condition)
}

// change applies how to the latest object, retrying on conflict.
func change[T client.Object](w *fixture, c client.Client, o T, how func(T)) {
	w.t.Helper()
	integration.Update(integration.User{T: w.t, G: w.WithT, Client: c}, o, integration.Whole, how)
}

// balancers lists the test's load balancers on Harvester.
func (w *fixture) balancers() []lbv1.LoadBalancer {
	w.t.Helper()
	list := &lbv1.LoadBalancerList{}
	w.Expect(w.harvester.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	return list.Items
}

// poolOf returns the pool that was created for the cluster.
func (w *fixture) poolOf(cluster *infrav1.HarvesterCluster, use owned.PoolUse) *lbv1.IPPool {
	w.t.Helper()
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: owned.By{Cluster: cluster}.NameFor(string(use))}}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	return pool
}

// remove deletes a cluster, and waits until it no longer exists.
func (w *fixture) remove(cluster *infrav1.HarvesterCluster) {
	w.t.Helper()
	w.Expect(user.Delete(w.t.Context(), cluster)).To(Succeed())
	w.waitForDeletion(cluster)
}

func (w *fixture) waitForDeletion(cluster *infrav1.HarvesterCluster) {
	w.t.Helper()
	w.Eventually(func() error { return user.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster) }).
		Should(MatchError(ContainSubstring("not found")), "%s", conditionsOf{cluster})
}

// expectNoLoadBalancers verifies that no objects of load balancers remain on Harvester.
func (w *fixture) expectNoLoadBalancers() {
	w.t.Helper()
	for _, list := range []client.ObjectList{&lbv1.LoadBalancerList{}, &corev1.ServiceList{}} {
		w.Eventually(func(g Gomega) { // objects that Harvester created are garbage-collected with their owners
			g.Expect(w.harvester.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()))
		}).Should(Succeed())
	}
}
