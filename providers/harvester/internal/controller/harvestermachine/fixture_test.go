// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestermachine"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
	"github.com/faultline-io/faultline/shared/watch"
)

// All tests share the management API server and the Harvester. Each test has a namespace on both, and a manager.
var (
	apiServer *rest.Config
	user      client.WithWatch // of all actors except the managers
	sim       *simulator.Simulator
	scheme    = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	utilruntime.Must((&runtime.SchemeBuilder{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, harvester.AddToScheme,
	}).AddToScheme(scheme))
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, reterr error) {
	ctx := context.Background()
	env, stop, err := testenv.Open(ctx, testenv.Options{Scheme: scheme, Config: filepath.Join("..", "..", "..", "config"), ClusterAPI: true})
	if err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, stop()) }()
	apiServer = env.Config
	if user, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	options := append(simulator.KubeVirtOf(os.Getenv), simulator.WithNetworks(simulator.Network{Name: "vlan-2"}))
	if sim, err = simulator.Run(ctx, options...); err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, sim.Stop()) }()
	return m.Run(), nil
}

// fixture is a cluster on a Harvester with the domains zone-1 to zone-3, of two hosts each. Its namespaces on both sides and the cluster
// have the same name.
type fixture struct {
	*WithT
	t         *testing.T
	client    client.Client
	name      string
	cluster   *clusterv1.Cluster
	infra     *infrav1.HarvesterCluster
	harvester client.Client
	workload  *workload
	silence   time.Duration // how long a watch may be silent before the manager checks it; 0 is the default
}

func newFixture(t *testing.T, change ...func(*infrav1.HarvesterCluster)) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	g.SetDefaultConsistentlyDuration(500 * time.Millisecond)
	w := &fixture{WithT: g, t: t, client: user, harvester: sim.Client()}
	w.name = integration.NewNamespace(t, user)
	g.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	w.create(&corev1.Secret{ObjectMeta: w.meta("identity"), Data: map[string][]byte{infrav1.KubeconfigKey: sim.Kubeconfig()}})
	w.create(&corev1.Secret{ObjectMeta: w.meta("bootstrap"), Data: map[string][]byte{"value": []byte("#cloud-config\nruncmd:\n- kubeadm join\n")}})
	w.createCluster(change...)
	return w
}

func (w *fixture) createCluster(change ...func(*infrav1.HarvesterCluster)) {
	w.cluster = &clusterv1.Cluster{ObjectMeta: w.meta(w.name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "HarvesterCluster", Name: w.name},
	}}
	w.create(w.cluster)
	w.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.Expect(w.client.Status().Update(w.t.Context(), w.cluster)).To(Succeed())
	w.infra = &infrav1.HarvesterCluster{ObjectMeta: w.meta(w.name)}
	w.infra.Annotations = map[string]string{infrav1.ClusterIDAnnotation: "cluster-" + w.name}
	w.infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: w.name, UID: w.cluster.UID}}
	w.infra.Spec = infrav1.HarvesterClusterSpec{
		IdentitySecret: infrav1.SecretKey{Namespace: w.name, Name: "identity"}, TargetNamespace: w.name,
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.255.255.1", Port: 6443},
	}
	for _, each := range change {
		each(w.infra)
	}
	w.create(w.infra)
	for i := range 3 {
		w.infra.Status.Distribution.FailureDomains = append(w.infra.Status.Distribution.FailureDomains, faultlinev1.DomainStatus{
			Name: fmt.Sprintf("zone-%d", i+1), State: faultlinev1.DomainActive, Health: faultlinev1.DomainHealthy,
		})
	}
	w.Expect(w.client.Status().Update(w.t.Context(), w.infra)).To(Succeed())
}

// start runs a manager until the end of the test or stop.
func (w *fixture) start() (stop func()) {
	w.t.Helper()
	w.workload = &workload{}
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	return integration.Start(w.t, apiServer, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		connections := harvester.New(ctx, mgr.GetClient(), mgr.GetAPIReader(), scheme)
		connections.Silence = w.silence
		if err := connections.WatchIdentities(ctx, mgr.GetCache()); err != nil {
			return err
		}
		w.workload.mgr = mgr
		if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Node{}, clustercache.NodeProviderIDIndex.Field, clustercache.NodeProviderIDIndex.ExtractValue); err != nil {
			return err
		}
		return (&harvestermachine.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connections: connections, Addresses: &ipam.Claimer{},
			Workloads: w.workload, Recorder: manager.Recorder(mgr, "harvestermachine"),
		}).SetupWithManager(ctx, mgr, "", watch.Concurrency(10))
	})
}

// workload is a workload cluster whose Nodes are on the management API server.
type workload struct {
	clustercache.ClusterCache
	mgr  ctrl.Manager
	once sync.Once
}

func (w *workload) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return w.mgr.GetClient(), nil
}

func (w *workload) GetReader(context.Context, client.ObjectKey) (client.Reader, error) {
	return w.mgr.GetClient(), nil
}

func (w *workload) Watch(_ context.Context, _ client.ObjectKey, watcher clustercache.Watcher) (err error) {
	w.once.Do(func() { err = watcher.Watch(w.mgr.GetCache()) })
	return err
}

func (w *workload) GetClusterSource(string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[ctrl.Request]) error { return nil })
}

func (w *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: w.name}}
}

func (w *fixture) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		w.Expect(w.client.Create(w.t.Context(), o)).To(Succeed(), "creating %T %s", o, o.GetName())
	}
}

// machine creates a Machine with its HarvesterMachine. Machines have the names of their Nodes, which tests share, so the name begins with
// the test's.
func (w *fixture) machine(name, domain string, change ...func(*infrav1.HarvesterMachine)) *infrav1.HarvesterMachine {
	w.t.Helper()
	return w.machineNamed(w.name+"-"+name, domain, change...)
}

func (w *fixture) machineNamed(name, domain string, change ...func(*infrav1.HarvesterMachine)) *infrav1.HarvesterMachine {
	w.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: w.name, FailureDomain: domain,
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "HarvesterMachine", Name: name},
	}}
	w.create(machine)
	infra := &infrav1.HarvesterMachine{ObjectMeta: w.meta(name)}
	infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID}}
	infra.Spec = infrav1.HarvesterMachineSpec{
		CPU: 2, Memory: "4Gi", SSHKeyPair: "default/admin", Networks: []string{"default/vlan-1"},
		Volumes: []infrav1.Volume{{VolumeType: infrav1.VolumeTypeImage, ImageName: "default/ubuntu", VolumeSize: ptr.To(resource.MustParse("10Gi"))}},
	}
	for _, each := range change {
		each(infra)
	}
	w.create(infra)
	return infra
}

// latest returns the stored HarvesterMachine.
func (w *fixture) latest(infra *infrav1.HarvesterMachine) *infrav1.HarvesterMachine {
	w.t.Helper()
	current := &infrav1.HarvesterMachine{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(infra), current)).To(Succeed())
	return current
}

// waitForProvisioned waits until the machine is ready.
func (w *fixture) waitForProvisioned(infra *infrav1.HarvesterMachine) *infrav1.HarvesterMachine {
	w.t.Helper()
	w.Eventually(func() bool { return w.latest(infra).Status.Ready }).Should(BeTrue(), func() string { return w.conditions(infra) })
	return w.latest(infra)
}

func (w *fixture) conditions(infra *infrav1.HarvesterMachine) string {
	return conditionsOf(w.latest(infra))
}

func conditionsOf(infra *infrav1.HarvesterMachine) (text string) {
	for _, c := range infra.Status.Conditions {
		text += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

// waitForReason waits until a condition of the machine has the reason, and returns its message.
func (w *fixture) waitForReason(infra *infrav1.HarvesterMachine, condition, reason string) string {
	w.t.Helper()
	w.Eventually(func() string { return conditions.GetReason(w.latest(infra), condition) }).
		Should(Equal(reason), func() string { return w.conditions(infra) })
	return conditions.GetMessage(w.latest(infra), condition)
}

// vm returns the virtual machine of a machine.
func (w *fixture) vm(infra *infrav1.HarvesterMachine) *kubevirtv1.VirtualMachine {
	w.t.Helper()
	vm := &kubevirtv1.VirtualMachine{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKeyFromObject(infra), vm)).To(Succeed())
	return vm
}

func (w *fixture) vmi(infra *infrav1.HarvesterMachine) *kubevirtv1.VirtualMachineInstance {
	w.t.Helper()
	vmi := &kubevirtv1.VirtualMachineInstance{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKeyFromObject(infra), vmi)).To(Succeed())
	return vmi
}

// address returns the address that the machine's guest reports, possibly later than the machine's status.
func (w *fixture) address(infra *infrav1.HarvesterMachine) string {
	w.t.Helper()
	w.Eventually(func() []kubevirtv1.VirtualMachineInstanceNetworkInterface { return w.vmi(infra).Status.Interfaces }).
		Should(ContainElement(HaveField("IP", Not(BeEmpty()))))
	return w.vmi(infra).Status.Interfaces[0].IP
}

// listOnHarvester lists objects in the test's namespace on Harvester.
func (w *fixture) listOnHarvester(list client.ObjectList) client.ObjectList {
	w.t.Helper()
	w.Expect(w.harvester.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	return list
}

func (w *fixture) delete(infra *infrav1.HarvesterMachine) {
	w.t.Helper()
	w.Expect(w.client.Delete(w.t.Context(), infra)).To(Succeed())
}

func (w *fixture) waitForDeletion(infra *infrav1.HarvesterMachine) {
	w.t.Helper()
	w.Eventually(func() error {
		return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(infra), &infrav1.HarvesterMachine{})
	}).
		Should(notFound(), func() string { return w.conditions(infra) })
}

func notFound() gomegatypes.GomegaMatcher {
	return WithTransform(apierrors.IsNotFound, BeTrue())
}

func tenGi() resource.Quantity { return resource.MustParse("10Gi") }

// context outlives the test, for cleanup.
func (w *fixture) context() context.Context { return context.WithoutCancel(w.t.Context()) }

func (w *fixture) user() integration.User {
	return integration.User{T: w.t, G: w.WithT, Client: w.client}
}

func (w *fixture) update(infra *infrav1.HarvesterMachine, change func(*infrav1.HarvesterMachine)) {
	w.t.Helper()
	integration.Update(w.user(), infra.DeepCopy(), integration.Whole, change)
}

func (w *fixture) updateStatus(infra *infrav1.HarvesterMachine, change func(*infrav1.HarvesterMachine)) {
	w.t.Helper()
	integration.Update(w.user(), infra.DeepCopy(), integration.Status, change)
}

// updateCluster changes the HarvesterCluster.
func (w *fixture) updateCluster(change func(*infrav1.HarvesterCluster)) {
	w.t.Helper()
	integration.Update(w.user(), w.infra.DeepCopy(), integration.Whole, change)
}

// domain sets the state of a failure domain.
func (w *fixture) domain(name string, state faultlinev1.DomainState) {
	w.t.Helper()
	integration.Update(w.user(), w.infra.DeepCopy(), integration.Status, func(infra *infrav1.HarvesterCluster) {
		for i := range infra.Status.Distribution.FailureDomains {
			if of := &infra.Status.Distribution.FailureDomains[i]; of.Name == name {
				of.State, of.Reason = state, faultlinev1.ReasonCordonRequested
			}
		}
	})
}

// fault starts or ends a fault of the whole Harvester. A test that uses it must not run in parallel.
func (w *fixture) fault(name string, on bool, args ...string) {
	w.t.Helper()
	w.Expect(sim.SetFault(w.context(), name, on, args...)).To(Succeed())
	if on {
		w.t.Cleanup(func() { w.Expect(sim.SetFault(w.context(), name, false, args...)).To(Succeed()) })
	}
}

// requests returns the requests to Harvester for the test's namespace and for IPPools, except watches.
func (w *fixture) requests() []string {
	var list []string
	for _, r := range sim.Requests() {
		if r.Verb != "watch" && (r.Namespace == w.name || r.Resource == "ippools") {
			list = append(list, fmt.Sprintf("%s %s/%s", r.Verb, r.Resource, r.Name))
		}
	}
	return list
}

// writes records writes of machines from now on. The returned function waits until the machine satisfies the condition, and returns the
// versions of its spec, annotations and conditions until then, except the first.
func (w *fixture) writes() func(*infrav1.HarvesterMachine, func(*infrav1.HarvesterMachine) bool) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.context(), integration.Timeout)
	w.t.Cleanup(cancel)
	changes, err := user.Watch(ctx, &infrav1.HarvesterMachineList{}, client.InNamespace(w.name))
	w.Expect(err).NotTo(HaveOccurred())
	return func(infra *infrav1.HarvesterMachine, until func(*infrav1.HarvesterMachine) bool) (versions []string) {
		w.t.Helper()
		for event := range changes.ResultChan() {
			now, ok := event.Object.(*infrav1.HarvesterMachine)
			if !ok || now.Name != infra.Name || event.Type != apiwatch.Modified {
				continue
			}
			versions = append(versions, fmt.Sprintf("%q %v %s", now.Spec.ProviderID, now.Annotations, conditionsOf(now)))
			if until(now) {
				return versions
			}
		}
		w.t.Fatalf("Machine %s is not as it should be: %s", infra.Name, w.conditions(infra))
		return nil
	}
}

func (w *fixture) claims() []corev1.PersistentVolumeClaim {
	w.t.Helper()
	return w.listOnHarvester(&corev1.PersistentVolumeClaimList{}).(*corev1.PersistentVolumeClaimList).Items
}

// foreignVM returns a virtual machine with the machine's name that this manager did not create. Its volume is <name>-disk-0-abcde.
func (w *fixture) foreignVM(name string) *kubevirtv1.VirtualMachine {
	name = w.name + "-" + name
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyAlways)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	spec := &vm.Spec.Template.Spec
	spec.Domain.CPU = &kubevirtv1.CPU{Cores: 1}
	spec.Domain.Memory = &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse("1Gi"))}
	spec.Domain.Devices.Interfaces = []kubevirtv1.Interface{{Name: "nic-1", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Bridge: &kubevirtv1.InterfaceBridge{}}}}
	spec.Networks = []kubevirtv1.Network{{Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan-1"}}}}
	spec.Domain.Devices.Disks = []kubevirtv1.Disk{{Name: "disk-0"}}
	spec.Volumes = []kubevirtv1.Volume{{Name: "disk-0", VolumeSource: kubevirtv1.VolumeSource{
		PersistentVolumeClaim: &kubevirtv1.PersistentVolumeClaimVolumeSource{PersistentVolumeClaimVolumeSource: corev1.PersistentVolumeClaimVolumeSource{ClaimName: name + "-disk-0-abcde"}},
	}}}
	return vm
}

// event returns the note of an event about a machine, which may no longer exist.
func (w *fixture) event(infra *infrav1.HarvesterMachine, reason string) string {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	for _, event := range list.Items {
		if event.Reason == reason && event.Regarding.Name == infra.Name {
			return event.Note
		}
	}
	return ""
}

// expectNothingLeft verifies that no object of any machine remains in the test's namespace on Harvester, and that the pool has no
// allocations.
func (w *fixture) expectNothingLeft(pool string) {
	w.t.Helper()
	w.Expect(w.allocated(pool)).To(BeEmpty())
	for _, list := range []client.ObjectList{
		&kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{},
	} {
		w.Eventually(func() client.ObjectList { return w.listOnHarvester(list) }).Should(HaveField("Items", BeEmpty()))
	}
}
