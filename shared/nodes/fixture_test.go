// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/remote"
	"github.com/faultline-io/faultline/shared/watch"
)

// fixture is a cluster with one machine, which is in failure domain a and has no Node yet.
type fixture struct {
	*WithT
	t      *testing.T
	client client.Client
	name   string // of the namespace, and of the Node
	infra  *providertest.Cluster
	owner  *clusterv1.Machine
	placed *providertest.Machine
	source nodes.LabelSource
	// patches counts the manager's requests that change Nodes; before the first one it calls interfere.
	patches   atomic.Int32
	interfere func()
	stop      func()
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	w := &fixture{WithT: g, t: t, client: c, interfere: func() {}}
	w.name = integration.NewNamespace(t, c)
	w.cluster()
	w.machine()
	return w
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "one"}}
}

func (w *fixture) create(objects ...client.Object) {
	w.t.Helper()
	w.user().Create(objects...)
}

// update changes an object, or its status, and retries on conflict.
func update[T client.Object](w *fixture, o T, write func(context.Context, client.Client, client.Object) error, change func(T)) {
	w.t.Helper()
	integration.Update(w.user(), o, write, change)
}

func (w *fixture) user() integration.User {
	return integration.User{T: w.t, G: w.WithT, Client: w.client}
}

func (w *fixture) cluster() {
	w.t.Helper()
	w.infra = &providertest.Cluster{ObjectMeta: w.meta("one")}
	w.user().Cluster(w.infra)
	w.publish(described("a"), described("b"))
}

// described returns a failure domain in region north whose zone has another name.
func described(name string) clusterv1.FailureDomain {
	return clusterv1.FailureDomain{Name: name, Attributes: map[string]string{"zone": "zone-" + name, "region": "north", "freeHosts": "1"}}
}

func (w *fixture) publish(domains ...clusterv1.FailureDomain) {
	w.t.Helper()
	update(w, w.infra, integration.Status, func(c *providertest.Cluster) { c.Status.FailureDomains = domains })
}

func (w *fixture) machine() {
	w.t.Helper()
	w.placed = &providertest.Machine{ObjectMeta: w.meta("m")}
	w.owner = w.user().Machine("one", "", w.placed)
	w.moveTo("a")
}

func (w *fixture) moveTo(domain string) {
	w.t.Helper()
	update(w, w.placed, integration.Status, func(m *providertest.Machine) { m.Status.Domain = domain })
}

// join creates the machine's Node, as a kubelet and Cluster API do.
func (w *fixture) join(change func(*corev1.Node)) {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: map[string]string{corev1.LabelOSStable: "linux"}}}
	change(node)
	w.create(node)
	update(w, w.owner, integration.Status, func(m *clusterv1.Machine) { m.Status.NodeRef = clusterv1.MachineNodeReference{Name: w.name} })
}

func unchanged(*corev1.Node) {}

// connectable creates the kubeconfig with which the manager connects to the workload cluster.
func (w *fixture) connectable() {
	w.t.Helper()
	w.create(&corev1.Secret{ObjectMeta: w.meta("one-kubeconfig"), Data: map[string][]byte{"value": kubeconfig}})
}

func (w *fixture) start() {
	w.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	w.stop = integration.Start(w.t, apiServer, nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		connections, err := remote.Connect(ctx, mgr, providertest.Provider{}, remote.Options{}, remote.Contents{StripNode: nodes.StripNode})
		if err != nil {
			return err
		}
		connections.(interface{ SetConnectionCreationRetryInterval(time.Duration) }).SetConnectionCreationRetryInterval(100 * time.Millisecond)
		return (&nodes.Reconciler{
			Client: mgr.GetClient(), Provider: providertest.Provider{}, Workloads: counted{connections, w}, Source: w.source, Recorder: manager.Recorder(mgr, "nodelabels"),
		}).SetupWithManager(ctx, mgr, "", watch.Concurrency(2))
	})
}

// counted is a cluster cache that counts patches.
type counted struct {
	clustercache.ClusterCache
	*fixture
}

func (c counted) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	inner, err := c.ClusterCache.GetClient(ctx, cluster)
	return countedClient{inner, c.fixture}, err
}

type countedClient struct {
	client.Client
	w *fixture
}

func (c countedClient) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.w.patches.Add(1) == 1 {
		c.w.interfere()
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

func (w *fixture) node() *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(node), node)).To(Succeed())
	return node
}

func (w *fixture) labels() map[string]string {
	w.t.Helper()
	return w.node().Labels
}

func (w *fixture) relabel(change func(*corev1.Node)) {
	w.t.Helper()
	update(w, w.node(), integration.Whole, change)
}
