// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"strings"
	"testing"

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
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/manager"
)

// fixture is a test with its own namespace of the API server, with hosts, their simulator, and a manager for it.
type fixture struct {
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

// newFixture creates the hosts of the layout, available at once, and starts a manager.
func newFixture(t *testing.T, layout simulator.Layout) *fixture {
	t.Helper()
	f := newEmptyFixture(t)
	f.hosts(layout)
	f.start()
	return f
}

// newEmptyFixture has no hosts and no manager yet.
func newEmptyFixture(t *testing.T) *fixture {
	t.Helper()
	f := newStaticFixture(t)
	f.sim = simulator.Start(t, apiServer, simulator.WithNamespace(f.name), simulator.WithHooks(simulator.Hooks{PowerOn: f.boot}))
	return f
}

// newStaticFixture returns a fixture without a simulator: its hosts do not change.
func newStaticFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	f := &fixture{WithT: g, t: t, client: user, config: apiServer}
	f.name = integration.NewNamespace(t, user)
	return f
}

// boot simulates the operating system of a host: a kubelet that joins its cluster, with the label that bootstrap data would set.
func (f *fixture) boot(ctx context.Context, boot simulator.Boot) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: f.name + "-" + boot.Host.Spec.ConsumerRef.Name, Labels: map[string]string{infrav1.NodeUUIDLabel: string(boot.Host.UID)},
	}}
	if f.joins != nil && !f.joins(node) {
		return nil
	}
	return client.IgnoreAlreadyExists(f.client.Create(ctx, node))
}

func (f *fixture) hosts(layout simulator.Layout) {
	f.t.Helper()
	layout.Ready = true
	f.Expect(simulator.Create(f.t.Context(), f.client, f.name, layout)).To(Succeed())
}

// start runs a manager until stop or the end of the test.
func (f *fixture) start() {
	f.t.Helper()
	f.stop = f.manage("")
}

// manage runs a manager for the objects with this value of the watch label, and returns a function that stops it.
func (f *fixture) manage(watchFilter string) func() {
	f.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(f.name, f.name)}
	setup.CacheOptions(&options.Cache)
	f.metrics = prometheus.NewRegistry()
	return integration.Start(f.t, f.config, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.Add(ctx, mgr, setup.Options{
			WatchFilter: watchFilter, Metrics: f.metrics, Clusters: 5, Machines: 20, DataTemplates: 2, Data: 5, Workloads: 2,
			Common: controllers.Options{Versions: map[string]string{"kubeadm": machines.Kubeadm{}.Facts().OldestTested}},
		})
	})
}

func (f *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.name, Name: name, Labels: map[string]string{}}
}

func (f *fixture) create(objects ...client.Object) {
	f.t.Helper()
	f.user().Create(objects...)
}

func (f *fixture) get(o client.Object) client.Object {
	f.t.Helper()
	f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// host reads a host.
func (f *fixture) host(name string) *bmov1alpha1.BareMetalHost {
	f.t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: f.meta(name)}
	f.get(host)
	return host
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](f *fixture, o T, change func(T)) {
	f.t.Helper()
	integration.Update(f.user(), o, integration.Whole, change)
}

// updateStatus is update for the status.
func updateStatus[T client.Object](f *fixture, o T, change func(T)) {
	f.t.Helper()
	integration.Update(f.user(), o, integration.Status, change)
}

// cluster creates a Cluster with its Metal3Cluster and a kubeconfig. The failure domains are also for control planes.
func (f *fixture) cluster(name string, domains ...string) *infrav1.Metal3Cluster {
	f.t.Helper()
	return f.clusterWith(name, func(*infrav1.Metal3Cluster) {}, domains...)
}

func (f *fixture) clusterWith(name string, change func(*infrav1.Metal3Cluster), domains ...string) *infrav1.Metal3Cluster {
	f.t.Helper()
	infra := &infrav1.Metal3Cluster{ObjectMeta: f.meta(name), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
	}}
	for _, domain := range domains {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: domain, ControlPlane: ptr.To(true)})
	}
	change(infra)
	f.user().Kubeconfig(f.name, name, kubeconfig)
	f.user().Cluster(infra)
	return infra
}

// machine creates a Machine with bootstrap data and its Metal3Machine.
func (f *fixture) machine(cluster, name, domain string, changes ...func(*clusterv1.Machine, *infrav1.Metal3Machine)) *infrav1.Metal3Machine {
	f.t.Helper()
	metal3 := &infrav1.Metal3Machine{ObjectMeta: f.meta(name), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123456789abcdef", DiskFormat: ptr.To(infrav1.DiskFormat("qcow2"))},
	}}
	f.user().Machine(cluster, domain, metal3, func(machine *clusterv1.Machine) {
		for _, change := range changes {
			change(machine, metal3)
		}
	})
	return metal3
}

// waitForProvisioned waits until the Metal3Machine reports that its host is provisioned, and returns the host.
func (f *fixture) waitForProvisioned(machine *infrav1.Metal3Machine) *bmov1alpha1.BareMetalHost {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", integration.Describe(machine))
	}).Should(Succeed())
	return f.host(hostOf(machine))
}

// hostOf returns the host that a machine reports.
func hostOf(machine *infrav1.Metal3Machine) string {
	_, name, _ := strings.Cut(machine.Annotations[infrav1.HostAnnotation], "/")
	return name
}

// waitForReason waits until the machine reports the reason why it has no host, and returns the message.
func (f *fixture) waitForReason(machine *infrav1.Metal3Machine, reason string) string {
	f.t.Helper()
	return f.waitForCondition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, reason)
}

// waitForCondition waits until a condition has the reason, and returns its message.
func (f *fixture) waitForCondition(o integration.Conditioned, conditionType, reason string) string {
	f.t.Helper()
	return f.user().Condition(o, conditionType, reason)
}

// user returns the user that changes objects in the management cluster.
func (f *fixture) user() integration.User {
	return integration.User{T: f.t, G: f.WithT, Client: f.client}
}

// deleteMachine deletes a Metal3Machine with its Machine, as Cluster API would, and waits for their deletion.
func (f *fixture) deleteMachine(machine *infrav1.Metal3Machine) {
	f.t.Helper()
	f.user().Delete(machine)
}

func (f *fixture) waitForDeletion(o client.Object) {
	f.t.Helper()
	f.user().WaitForDeletion(o)
}

// setIntendedHost stores on a machine, while no manager runs, the host that it is about to claim.
func (f *fixture) setIntendedHost(machine *infrav1.Metal3Machine, host string) {
	f.t.Helper()
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		machine.Finalizers = []string{infrav1.MachineFinalizer}
		machine.Annotations = map[string]string{infrav1.HostAnnotation: f.name + "/" + host}
	})
}
