// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/rebalance"
	"github.com/faultline-io/faultline/shared/testworld"
)

// patience is a timeout for busy machines; only a failing test waits that long.
const patience = 2 * time.Minute

// glance is the interval at which a test polls. Each poll is a request, which on a busy machine slows down the awaited work.
const glance = 50 * time.Millisecond

// world is a test with its own namespace of the API server, with hosts, their simulator, and a manager for it.
type world struct {
	*WithT
	t       *testing.T
	client  client.WithWatch
	sim     *simulator.Simulator
	name    string // namespace
	metrics *prometheus.Registry
	config  *rest.Config // of managers
	stop    func()
	joins   func(*corev1.Node) bool // reports whether a host that boots joins its cluster as the Node; nil means always
}

// newWorld creates the hosts of the layout, available at once, and starts a manager.
func newWorld(t *testing.T, layout simulator.Layout) *world {
	t.Helper()
	w := emptyWorld(t)
	w.hosts(layout)
	w.start()
	return w
}

// emptyWorld has no hosts and no manager yet.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	w := stillWorld(t)
	w.sim = simulator.Start(t, apiServer, simulator.WithNamespace(w.name), simulator.WithHooks(simulator.Hooks{PowerOn: w.boot}))
	return w
}

// stillWorld is an empty world without a simulator: hosts do not change.
func stillWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(glance)
	w := &world{WithT: g, t: t, client: user, config: apiServer}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	g.Expect(user.Create(t.Context(), ns)).To(Succeed())
	w.name = ns.Name
	return w
}

// boot simulates the operating system of a host: a kubelet that joins its cluster, with the label that bootstrap data would set.
func (w *world) boot(ctx context.Context, boot simulator.Boot) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: w.name + "-" + boot.Host.Spec.ConsumerRef.Name, Labels: map[string]string{infrav1.NodeUUIDLabel: string(boot.Host.UID)},
	}}
	if w.joins != nil && !w.joins(node) {
		return nil
	}
	return client.IgnoreAlreadyExists(w.client.Create(ctx, node))
}

func (w *world) hosts(layout simulator.Layout) {
	w.t.Helper()
	layout.Ready = true
	w.Expect(simulator.Create(w.t.Context(), w.client, w.name, layout)).To(Succeed())
}

// start runs a manager until stop or the end of the test.
func (w *world) start() {
	w.t.Helper()
	w.stop = w.manage("")
}

// manage runs a manager for the objects with this value of the watch label, and returns a function that stops it.
func (w *world) manage(watchFilter string) func() {
	w.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	setup.CacheOptions(&options.Cache)
	w.metrics = prometheus.NewRegistry()
	return testworld.Start(w.t, w.config, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.Add(ctx, mgr, setup.Options{
			WatchFilter: watchFilter, Metrics: w.metrics, Clusters: 5, Machines: 20, DataTemplates: 2, Data: 5, Workloads: 2,
			Common: controllers.Options{KubeadmVersion: rebalance.OldestTested},
		})
	})
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{}}
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	w.user().Create(objects...)
}

func (w *world) get(o client.Object) client.Object {
	w.t.Helper()
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// host reads a host.
func (w *world) host(name string) *bmov1alpha1.BareMetalHost {
	w.t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: w.meta(name)}
	w.get(host)
	return host
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	testworld.Update(w.user(), o, testworld.Whole, change)
}

// updateStatus is update for the status.
func updateStatus[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	testworld.Update(w.user(), o, testworld.Status, change)
}

// cluster creates a Cluster with its Metal3Cluster and a kubeconfig. The failure domains are also for control planes.
func (w *world) cluster(name string, domains ...string) *infrav1.Metal3Cluster {
	w.t.Helper()
	return w.clusterWith(name, func(*infrav1.Metal3Cluster) {}, domains...)
}

func (w *world) clusterWith(name string, change func(*infrav1.Metal3Cluster), domains ...string) *infrav1.Metal3Cluster {
	w.t.Helper()
	infra := &infrav1.Metal3Cluster{ObjectMeta: w.meta(name), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	for _, domain := range domains {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: domain, ControlPlane: ptr.To(true)})
	}
	change(infra)
	w.user().Kubeconfig(w.name, name, kubeconfig)
	w.user().Cluster(infra)
	return infra
}

// machine creates a Machine with bootstrap data and its Metal3Machine.
func (w *world) machine(cluster, name, domain string, changes ...func(*clusterv1.Machine, *infrav1.Metal3Machine)) *infrav1.Metal3Machine {
	w.t.Helper()
	metal3 := &infrav1.Metal3Machine{ObjectMeta: w.meta(name), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123456789abcdef", DiskFormat: ptr.To(infrav1.DiskFormat("qcow2"))},
	}}
	w.user().Machine(cluster, domain, metal3, func(machine *clusterv1.Machine) {
		for _, change := range changes {
			change(machine, metal3)
		}
	})
	return metal3
}

// provisioned waits until the Metal3Machine reports that its host is provisioned, and returns the host.
func (w *world) provisioned(machine *infrav1.Metal3Machine) *bmov1alpha1.BareMetalHost {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", testworld.Describe(machine))
	}).Should(Succeed())
	return w.host(hostOf(machine))
}

// hostOf returns the host that a machine reports.
func hostOf(machine *infrav1.Metal3Machine) string {
	_, name, _ := strings.Cut(machine.Annotations[infrav1.HostAnnotation], "/")
	return name
}

// waits waits until the machine reports the reason why it has no host, and returns the message.
func (w *world) waits(machine *infrav1.Metal3Machine, reason string) string {
	w.t.Helper()
	return w.condition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, reason)
}

// condition waits until a condition has the reason, and returns its message.
func (w *world) condition(o testworld.Conditioned, conditionType, reason string) string {
	w.t.Helper()
	return w.user().Condition(o, conditionType, reason)
}

// user returns the user that changes objects in the management cluster.
func (w *world) user() testworld.User {
	return testworld.User{T: w.t, G: w.WithT, Client: w.client}
}

// remove deletes a Metal3Machine with its Machine, as Cluster API would, and waits for their deletion.
func (w *world) remove(machine *infrav1.Metal3Machine) {
	w.t.Helper()
	w.user().Remove(machine)
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	w.user().Gone(o)
}

// intends stores on a machine, while no manager runs, the host that it is about to claim.
func (w *world) intends(machine *infrav1.Metal3Machine, host string) {
	w.t.Helper()
	update(w, machine, func(machine *infrav1.Metal3Machine) {
		machine.Finalizers = []string{infrav1.MachineFinalizer}
		machine.Annotations = map[string]string{infrav1.HostAnnotation: w.name + "/" + host}
	})
}
