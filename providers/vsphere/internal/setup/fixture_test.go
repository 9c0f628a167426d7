// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/manager"
)

const provisionedCondition = infrav1.VSphereVMVirtualMachineProvisionedCondition

// fixture is a test's part of the API server, with its own vCenter and a manager that sees nothing else.
type fixture struct {
	*WithT
	t      *testing.T
	client client.Client
	vc     *simulator.Server
	name   string        // namespace, prefix of all cluster-scoped objects, and watch filter
	file   string        // with the manager's own account
	pause  time.Duration // after a failure; 0 is a second
	stop   func()
	// metrics are the metrics of the manager that was started last.
	metrics *prometheus.Registry

	config  *rest.Config // of the manager, if it differs from the tests'
	modules bool         // whether the manager creates cluster modules
}

func newFixture(t *testing.T, layout simulator.Layout, opts ...simulator.Option) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &fixture{WithT: g, t: t, client: user, vc: simulator.Start(t, layout, opts...)}
	w.name = integration.NewNamespace(t, user)
	t.Cleanup(w.cleanUp)
	w.create(w.secret("account", w.vc.Username(), w.vc.Password()))
	w.file = filepath.Join(t.TempDir(), "credentials.yaml")
	g.Expect(os.WriteFile(w.file, fmt.Appendf(nil, "username: %s\npassword: %s\n", w.vc.Username(), w.vc.Password()), 0o600)).To(Succeed())
	w.start()
	return w
}

// in returns the same fixture for a subtest.
func (w *fixture) in(t *testing.T) *fixture {
	t.Helper()
	inner := *w
	inner.WithT, inner.t = integration.NewGomega(t), t
	return &inner
}

// cleanUp deletes the cluster-scoped objects, which every later manager would otherwise read with each event.
func (w *fixture) cleanUp() {
	ctx := context.WithoutCancel(w.t.Context())
	zones, identities, domains := &infrav1.VSphereDeploymentZoneList{}, &infrav1.VSphereClusterIdentityList{}, &infrav1.VSphereFailureDomainList{}
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, list := range []client.ObjectList{zones, identities, domains} { // zones first: a zone protects its failure domain
		w.Expect(w.client.List(ctx, list)).To(Succeed())
		w.Expect(meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if !strings.HasPrefix(o.GetName(), w.name+"-") {
				return nil
			}
			if err := w.client.Delete(ctx, o); err != nil {
				return client.IgnoreNotFound(err)
			}
			return client.IgnoreNotFound(w.client.Patch(ctx, o, release))
		})).To(Succeed())
	}
}

// start runs a manager until stop or the end of the test. It watches only the test's namespace, as with --namespace; the others
// contain what earlier tests left.
func (w *fixture) start() {
	w.t.Helper()
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	w.metrics = prometheus.NewRegistry()
	w.stop = integration.Start(w.t, cmp.Or(w.config, apiServer), user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.Add(ctx, mgr, setup.Options{
			CredentialsFile: w.file, Namespace: w.name, WatchFilter: w.name, Log: slog.New(slog.DiscardHandler),
			Metrics: w.metrics, RetryAfter: cmp.Or(w.pause, time.Second),
			Clusters: 5, Machines: 20, VMs: 20, Zones: 5, Identities: 1,
			ClusterModules: w.modules,
			Common:         controllers.Options{Versions: map[string]string{"kubeadm": machines.Kubeadm{}.Facts().OldestTested}},
		})
	})
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.WatchLabel: w.name}}
}

func (w *fixture) secret(name, username, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.meta(name), StringData: map[string]string{"username": username, "password": password}}
}

func (w *fixture) create(objects ...client.Object) {
	w.t.Helper()
	w.user().Create(objects...)
}

func (w *fixture) get(o client.Object) client.Object {
	w.t.Helper()
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// update changes an object, retrying on conflict.
func update[T client.Object](w *fixture, o T, change func(T)) {
	w.t.Helper()
	integration.Update(w.user(), o, integration.Whole, change)
}

// updateStatus is update for the status.
func updateStatus[T client.Object](w *fixture, o T, change func(T)) {
	w.t.Helper()
	integration.Update(w.user(), o, integration.Status, change)
}

// cluster creates a Cluster with its VSphereCluster, whose failure domains are the zones of this test.
func (w *fixture) cluster(name string, changes ...func(*infrav1.VSphereCluster)) *infrav1.VSphereCluster {
	w.t.Helper()
	infra := &infrav1.VSphereCluster{ObjectMeta: w.meta(name), Spec: w.clusterSpec()}
	for _, change := range changes {
		change(infra)
	}
	w.user().Cluster(infra)
	return infra
}

// clusterSpec returns the spec of a cluster whose failure domains are the zones of this test.
func (w *fixture) clusterSpec() infrav1.VSphereClusterSpec {
	return infrav1.VSphereClusterSpec{
		Server: w.vc.Host(), Thumbprint: w.vc.Thumbprint(),
		IdentityRef:           infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "account"},
		ControlPlaneEndpoint:  infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		FailureDomainSelector: &metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.WatchLabel: w.name}},
	}
}

// zone creates a deployment zone and its failure domain, both named after the test and letter.
func (w *fixture) zone(letter string, topology infrav1.Topology, change func(*infrav1.VSphereDeploymentZone, *infrav1.VSphereFailureDomain)) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	meta := w.meta(w.name + "-" + letter)
	meta.Namespace = ""
	kind := infrav1.ComputeClusterFailureDomain
	switch {
	case topology.Hosts.HostGroupName != "":
		kind = infrav1.HostGroupFailureDomain
	case topology.ComputeCluster == "":
		kind = infrav1.DatacenterFailureDomain
	}
	region := infrav1.DatacenterFailureDomain
	if kind == infrav1.HostGroupFailureDomain {
		region = infrav1.ComputeClusterFailureDomain
	}
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: meta, Spec: infrav1.VSphereFailureDomainSpec{
		Region:   infrav1.FailureDomain{Name: simulator.RegionTag, Type: region, TagCategory: simulator.RegionCategory},
		Zone:     infrav1.FailureDomain{Name: "zone-" + letter, Type: kind, TagCategory: simulator.ZoneCategory},
		Topology: topology,
	}}
	zone := &infrav1.VSphereDeploymentZone{ObjectMeta: *meta.DeepCopy(), Spec: infrav1.VSphereDeploymentZoneSpec{
		Server: w.vc.Host(), Thumbprint: w.vc.Thumbprint(), FailureDomain: domain.Name,
	}}
	if change != nil {
		change(zone, domain)
	}
	w.create(domain, zone)
	return zone
}

// threeZones creates the zones a, b and c of simulator.ThreeZones.
func (w *fixture) threeZones() []*infrav1.VSphereDeploymentZone {
	w.t.Helper()
	var zones []*infrav1.VSphereDeploymentZone
	for _, letter := range []string{"a", "b", "c"} {
		zones = append(zones, w.zone(letter, infrav1.Topology{
			Datacenter: "dc-1", ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		}, nil))
	}
	return zones
}

// machineSpec returns the spec of a machine that can be placed in any of the zones.
func machineSpec() infrav1.VSphereMachineSpec {
	return infrav1.VSphereMachineSpec{VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
		Template: simulator.TemplateName, Folder: "workload",
		Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: simulator.NetworkName, DHCP4: ptr.To(true)}}},
	}}
}

// machine creates a Machine with bootstrap data and its VSphereMachine.
func (w *fixture) machine(cluster, name, domain string, changes ...func(*infrav1.VSphereMachine)) *infrav1.VSphereMachine {
	w.t.Helper()
	vsphere := &infrav1.VSphereMachine{ObjectMeta: w.meta(name), Spec: machineSpec()}
	for _, change := range changes {
		change(vsphere)
	}
	w.user().Machine(cluster, domain, vsphere)
	return vsphere
}

// waitForProvisioned waits until the VSphereMachine reports that its virtual machine is running.
func (w *fixture) waitForProvisioned(machine *infrav1.VSphereMachine) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", integration.Describe(machine))
	}).Should(Succeed())
}

// waitForCondition waits until a condition has the reason, and returns its message.
func (w *fixture) waitForCondition(o integration.Conditioned, conditionType, reason string) string {
	w.t.Helper()
	return w.user().Condition(o, conditionType, reason)
}

// user returns the user who changes objects in the management cluster.
func (w *fixture) user() integration.User {
	return integration.User{T: w.t, G: w.WithT, Client: w.client}
}

// vms returns the virtual machines of the vCenter by name, without templates.
func (w *fixture) vms() map[string]simulator.VM {
	byName := map[string]simulator.VM{}
	for _, vm := range w.vc.VMs() {
		if _, twice := byName[vm.Name]; twice {
			w.t.Errorf("vCenter has two virtual machines %s", vm.Name)
		}
		if vm.Name != simulator.TemplateName {
			byName[vm.Name] = vm
		}
	}
	return byName
}

// remove deletes a VSphereMachine with its Machine, as Cluster API would, and waits until neither exists.
func (w *fixture) remove(machine *infrav1.VSphereMachine) {
	w.t.Helper()
	w.user().Delete(machine)
}

func (w *fixture) waitForDeletion(o client.Object) {
	w.t.Helper()
	w.user().WaitForDeletion(o)
}

// waitForTask waits until the VSphereVM has recorded a task started by a method of vCenter, the only one so far, and returns the
// VSphereVM.
func (w *fixture) waitForTask(name string, calls string) *infrav1.VSphereVM {
	w.t.Helper()
	vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(vm), vm)).To(Succeed())
		g.Expect(w.vc.Calls()[calls]).To(Equal(1))
		g.Expect(vm.Status.TaskRef).NotTo(BeEmpty(), "%s", integration.Describe(vm))
		g.Expect(vm.Status.TaskOperation).To(Equal(operations[calls]), "the task recorded may be the one before")
	}).Should(Succeed())
	return vm
}

func (w *fixture) forgetTask(vm *infrav1.VSphereVM) {
	w.t.Helper()
	updateStatus(w, vm, func(vm *infrav1.VSphereVM) { vm.Status.TaskRef = "" })
}

// deleteWithoutManager deletes a VSphereVM while no manager runs, so that no manager clones again first.
func (w *fixture) deleteWithoutManager(vm *infrav1.VSphereVM) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), vm)).To(Succeed())
}

// operations maps the methods of vCenter to the recorded operations.
var operations = map[string]infrav1.TaskOperation{
	"CloneVM_Task": infrav1.CloneOperation, "PowerOnVM_Task": infrav1.PowerOnOperation, "ReconfigVM_Task": infrav1.ConfigureOperation,
	"PowerOffVM_Task": infrav1.PowerOffOperation, "Destroy_Task": infrav1.DestroyOperation, "UpgradeVM_Task": infrav1.UpgradeHardwareOperation,
}

// identity creates a VSphereClusterIdentity for the test, with its own Secret in the manager's namespace.
func (w *fixture) identity(name string, allowed *infrav1.AllowedNamespaces, changes ...func(*infrav1.VSphereClusterIdentity)) *infrav1.VSphereClusterIdentity {
	w.t.Helper()
	w.account("identity-" + name)
	identity := &infrav1.VSphereClusterIdentity{
		ObjectMeta: w.meta(w.name + "-" + name),
		Spec:       infrav1.VSphereClusterIdentitySpec{SecretName: "identity-" + name, AllowedNamespaces: allowed},
	}
	identity.Namespace = ""
	for _, change := range changes {
		change(identity)
	}
	w.create(identity)
	return identity
}

func (w *fixture) waitForAvailable(cluster *infrav1.VSphereCluster) {
	w.t.Helper()
	w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.VSphereClusterVCenterAvailableReason)
}
