// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/manager"
)

// fixture is a test's part of the management cluster and of Harvester: a namespace of the same name in each, hosts, and a manager
// restricted to the namespace. Hosts have no namespace, so each test labels the zones of its hosts with its own key.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.WithWatch // of the management cluster
	harvester client.WithWatch
	sim       *simulator.Simulator
	name      string // of the namespace in both
	metrics   *prometheus.Registry
	config    *rest.Config // of managers
	stop      func()
}

// newFixture creates hosts in the given number of zones and starts a manager.
func newFixture(t *testing.T, zones, hostsPerZone int) *fixture {
	t.Helper()
	w := newFixtureWithoutManager(t)
	for zone := range zones {
		for host := range hostsPerZone {
			w.host(fmt.Sprintf("h-%d-%d", zone+1, host+1), zoneName(zone+1))
		}
	}
	w.start()
	return w
}

// newFixtureWithoutManager returns a fixture without hosts and without a running manager.
func newFixtureWithoutManager(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWithoutManagerOn(t, sim)
}

// newFixtureWithoutManagerOn is newFixtureWithoutManager on the given Harvester.
func newFixtureWithoutManagerOn(t *testing.T, sim *simulator.Simulator) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &fixture{WithT: g, t: t, client: user, harvester: sim.Client(), sim: sim, config: apiServer}
	w.name = integration.NewNamespace(t, user)
	w.onHarvester(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})
	w.identity(sim.Kubeconfig())
	return w
}

func zoneName(i int) string { return fmt.Sprintf("zone-%d", i) }

// topologyKey returns the label of the test's hosts that holds their zone.
func (w *fixture) topologyKey() string { return w.name + ".example.com/zone" }

// host adds a host to Harvester. Without a zone, it does not get the zone label.
func (w *fixture) host(name, zone string, change ...func(*simulator.Host)) string {
	w.t.Helper()
	host := simulator.Host{Name: w.name + "-" + name, Labels: map[string]string{}}
	if zone != "" {
		host.Labels[w.topologyKey()] = zone
	}
	for _, each := range change {
		each(&host)
	}
	w.Expect(w.sim.AddHost(w.t.Context(), host)).To(Succeed())
	w.t.Cleanup(func() {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.Name}}
		_ = w.harvester.Delete(context.WithoutCancel(w.t.Context()), node)
	})
	return host.Name
}

// identity writes the Secret with the kubeconfig for Harvester.
func (w *fixture) identity(kubeconfig []byte) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: w.meta("identity"), Data: map[string][]byte{infrav1.KubeconfigKey: kubeconfig}}
	if err := w.client.Update(w.t.Context(), secret); err != nil {
		w.create(secret)
	}
}

// start runs a manager until stop or the end of the test.
func (w *fixture) start() {
	w.t.Helper()
	w.stop = w.manage("")
}

// manage runs a manager for the objects with the value of the watch label, and returns a function that stops it.
func (w *fixture) manage(watchFilter string) func() {
	w.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	manager.StripObjects(&options.Cache)
	w.metrics = prometheus.NewRegistry()
	return integration.Start(w.t, w.config, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.Add(ctx, mgr, setup.Options{
			WatchFilter: watchFilter, Namespace: w.name, Metrics: w.metrics, Clusters: 5, Machines: 20, Labels: 5, Workloads: 2,
			Common: controllers.Options{Versions: map[string]string{"kubeadm": machines.Kubeadm{}.Facts().OldestTested}},
		})
	})
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{}}
}

func (w *fixture) create(objects ...client.Object) {
	w.t.Helper()
	w.user().Create(objects...)
}

// onHarvester creates objects on Harvester.
func (w *fixture) onHarvester(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		w.Expect(w.harvester.Create(w.t.Context(), o)).To(Succeed(), "creating %T %s", o, o.GetName())
	}
}

// update applies change to the latest object, retrying on conflict.
func update[T client.Object](w *fixture, o T, change func(T)) {
	w.t.Helper()
	integration.Update(w.user(), o, integration.Whole, change)
}

// updateOnHarvester is update on Harvester.
func updateOnHarvester[T client.Object](w *fixture, o T, change func(T)) {
	w.t.Helper()
	integration.Update(integration.User{T: w.t, G: w.WithT, Client: w.harvester}, o, integration.Whole, change)
}

// cluster creates a Cluster with its HarvesterCluster and a kubeconfig. Its failure domains are discovered; its endpoint is preset.
func (w *fixture) cluster(name string, changes ...func(*infrav1.HarvesterCluster)) *infrav1.HarvesterCluster {
	w.t.Helper()
	infra := &infrav1.HarvesterCluster{ObjectMeta: w.meta(name)}
	infra.Spec.IdentitySecret = infrav1.SecretKey{Namespace: w.name, Name: "identity"}
	infra.Spec.TargetNamespace = w.name
	infra.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
	infra.Spec.FailureDomainTopologyKey = w.topologyKey()
	for _, change := range changes {
		change(infra)
	}
	w.user().Kubeconfig(w.name, name, kubeconfig)
	w.user().Cluster(infra)
	return infra
}

// machine creates a Machine with bootstrap data and its HarvesterMachine. Both have the name of their Node. Nodes have no
// namespace, so the name begins with the test's.
func (w *fixture) machine(cluster, name, domain string, changes ...func(*clusterv1.Machine, *infrav1.HarvesterMachine)) *infrav1.HarvesterMachine {
	w.t.Helper()
	name = w.name + "-" + name
	infra := &infrav1.HarvesterMachine{ObjectMeta: w.meta(name), Spec: machineSpec()}
	w.user().Machine(cluster, domain, infra, func(machine *clusterv1.Machine) {
		for _, change := range changes {
			change(machine, infra)
		}
	})
	return infra
}

// machineSpec returns the spec of a small machine with an address from DHCP.
func machineSpec() infrav1.HarvesterMachineSpec {
	return infrav1.HarvesterMachineSpec{
		CPU: 1, Memory: "1Gi", SSHUser: "ubuntu", SSHKeyPair: "default/admin", Networks: []string{"default/vlan-1"},
		Volumes: []infrav1.Volume{{VolumeType: "image", ImageName: "default/ubuntu", VolumeSize: ptr.To(resource.MustParse("10Gi"))}},
	}
}

// controlPlane makes the machine a control-plane machine.
func controlPlane(machine *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	infra.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

// waitForProvisioned waits until the HarvesterMachine reports a running virtual machine, and returns its instance.
func (w *fixture) waitForProvisioned(machine *infrav1.HarvesterMachine) *kubevirtv1.VirtualMachineInstance {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", integration.Describe(machine))
	}).Should(Succeed())
	return w.instance(machine.Name)
}

// instance reads an instance on Harvester.
func (w *fixture) instance(name string) *kubevirtv1.VirtualMachineInstance {
	w.t.Helper()
	vmi := &kubevirtv1.VirtualMachineInstance{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKey{Namespace: w.name, Name: name}, vmi)).To(Succeed())
	return vmi
}

// zoneOf returns the zone of the host that an instance runs on.
func (w *fixture) zoneOf(vmi *kubevirtv1.VirtualMachineInstance) string {
	w.t.Helper()
	node := &corev1.Node{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKey{Name: vmi.Status.NodeName}, node)).To(Succeed())
	return node.Labels[w.topologyKey()]
}

// waitForReason waits until a condition has the reason, and returns its message.
func (w *fixture) waitForReason(o integration.Conditioned, conditionType, reason string) string {
	w.t.Helper()
	return w.user().Condition(o, conditionType, reason)
}

// events returns the notes of all events with the reason.
func (w *fixture) events(reason string) func() []string {
	return func() (notes []string) {
		list := &eventsv1.EventList{}
		w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
		for _, event := range list.Items {
			if event.Reason == reason {
				notes = append(notes, event.Note)
			}
		}
		return notes
	}
}

// user returns the user of the management cluster who changes objects.
func (w *fixture) user() integration.User {
	return integration.User{T: w.t, G: w.WithT, Client: w.client}
}

// remove deletes a HarvesterMachine with its Machine, as Cluster API would, and waits until neither exists.
func (w *fixture) remove(machine *infrav1.HarvesterMachine) {
	w.t.Helper()
	w.user().Delete(machine)
}

// waitForDeletion waits until the object no longer exists.
func (w *fixture) waitForDeletion(from client.Client, o client.Object) {
	w.t.Helper()
	integration.User{T: w.t, G: w.WithT, Client: from}.WaitForDeletion(o)
}
