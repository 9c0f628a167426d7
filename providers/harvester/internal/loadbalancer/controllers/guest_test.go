// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

// guestFixture is a fixture whose manager has the controllers of guest clusters.
type guestFixture struct{ *fixture }

func newGuestFixture(t *testing.T) *guestFixture {
	t.Helper()
	return &guestFixture{emptyFixture(t)}
}

func (w *guestFixture) start() {
	w.t.Helper()
	w.startWith("")
}

// startWith runs a manager with a watch filter.
func (w *guestFixture) startWith(filter watch.Filter) {
	w.t.Helper()
	w.stop = integration.Start(w.t, cmp.Or(w.config, apiServer), user.RESTMapper(), ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)},
		func(ctx context.Context, mgr ctrl.Manager) error {
			return controllers.SetupGuestsWithManager(ctx, mgr, filter, watch.Concurrency(2))
		})
}

// machine creates a machine of a guest cluster with a finalizer that delays its deletion.
func (w *guestFixture) machine(name, cluster string) *kubevirtv1.VirtualMachine {
	w.t.Helper()
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name, Finalizers: []string{"example.com/held"}}}
	vm.Labels = map[string]string{lbv1.CreatorLabel: lbv1.RancherCreator, lbv1.MachineClusterLabel: cluster}
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	w.Expect(user.Create(w.t.Context(), vm)).To(Succeed())
	return vm
}

func (w *guestFixture) balancer(name, cluster string, workload lbv1.WorkloadType) *lbv1.LoadBalancer {
	w.t.Helper()
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}, Spec: lbv1.LoadBalancerSpec{WorkloadType: workload}}
	lb.Labels = map[string]string{lbv1.GuestClusterLabel: cluster}
	w.Expect(user.Create(w.t.Context(), lb)).To(Succeed())
	return lb
}

func markForRemoval(vm *kubevirtv1.VirtualMachine) {
	vm.Annotations = map[string]string{lbv1.RemovalAnnotation: "true"}
}

func (w *guestFixture) waitForMark(lb *lbv1.LoadBalancer, name string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.get(lb)).To(Succeed())
		g.Expect(lb.Annotations[lbv1.GoesWithAnnotation]).To(Equal(name))
	}).Should(Succeed())
}

func TestRemovedGuestClusterDeletesLoadBalancers(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	vm, other := w.machine("vm-1", "guest"), w.machine("vm-2", "other")
	one, two := w.balancer("one", "guest", lbv1.WorkloadCluster), w.balancer("two", "guest", lbv1.WorkloadCluster)
	foreign, balanced := w.balancer("foreign", "other", lbv1.WorkloadCluster), w.balancer("vms", "guest", lbv1.WorkloadVM)
	change(w.fixture, vm, markForRemoval)
	w.waitForMark(one, "vm-1")
	w.waitForMark(two, "vm-1")
	late := w.balancer("late", "guest", lbv1.WorkloadCluster)
	w.waitForMark(late, "vm-1")
	w.Expect(user.Delete(t.Context(), other)).To(Succeed(), "as a machine that is scaled away")
	w.deleteMachine(vm)
	w.waitForDeletion(one)
	w.waitForDeletion(two)
	w.waitForDeletion(late)
	w.Expect(w.get(foreign)).To(Succeed())
	w.Expect(w.get(balanced)).To(Succeed())
	w.Expect(balanced.Annotations).To(BeEmpty())
}

func TestLoadBalancersOfAnotherManagerStay(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	vm := w.machine("vm-1", "guest")
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) {
		markForRemoval(vm)
		vm.Finalizers = append(vm.Finalizers, lbv1.VMFinalizer)
	})
	others, ours := w.balancer("others", "guest", lbv1.WorkloadCluster), w.balancer("ours", "guest", lbv1.WorkloadCluster)
	change(w.fixture, ours, func(lb *lbv1.LoadBalancer) { lb.Labels[clusterv1.WatchLabel] = "ours" })
	w.startWith("ours")
	w.waitForMark(ours, "vm-1")
	w.Expect(user.Delete(t.Context(), vm)).To(Succeed())
	w.Expect(w.get(vm)).To(Succeed())
	w.Expect(vm.Finalizers).To(ContainElement(lbv1.VMFinalizer), "it is another manager's, too")
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) { vm.Finalizers = nil })
	w.waitForDeletion(ours)
	w.Expect(w.get(others)).To(Succeed())
	w.Expect(others.Annotations).To(BeEmpty())
}

// Each machine may announce the addresses while it runs.
func TestLoadBalancersStayUntilLastMachineIsDeleted(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	first, second, third := w.machine("vm-1", "guest"), w.machine("vm-2", "guest"), w.machine("vm-3", "guest")
	lb := w.balancer("one", "guest", lbv1.WorkloadCluster)
	change(w.fixture, first, markForRemoval)
	w.waitForMark(lb, "vm-1")
	change(w.fixture, second, markForRemoval)
	change(w.fixture, third, markForRemoval)
	w.deleteMachine(first)
	w.waitForMark(lb, "vm-2")
	w.whileStopped(func() { w.deleteMachine(second) })
	w.waitForMark(lb, "vm-3")
	w.Expect(user.Delete(t.Context(), third)).To(Succeed())
	// Once a machine that was deleted later has been reconciled, so has vm-3, whose finalizer still keeps it.
	another, other := w.machine("vm-4", "other"), w.balancer("other", "other", lbv1.WorkloadCluster)
	change(w.fixture, another, markForRemoval)
	w.waitForMark(other, "vm-4")
	w.deleteMachine(another)
	w.waitForDeletion(other)
	w.Expect(w.get(lb)).To(Succeed())
	w.Expect(lb.DeletionTimestamp).To(BeNil())
	change(w.fixture, third, func(vm *kubevirtv1.VirtualMachine) { vm.Finalizers = nil })
	w.waitForDeletion(lb)
}

func TestLoadBalancersOfUnnamedClustersStay(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	vm, seen := w.machine("vm-1", "kubernetes"), w.machine("vm-2", "other")
	marked := w.balancer("marked", "kubernetes", lbv1.WorkloadCluster)
	change(w.fixture, marked, func(lb *lbv1.LoadBalancer) { lb.Annotations = map[string]string{lbv1.GoesWithAnnotation: "vm-1"} }) // by an earlier release
	unnamed, after := w.balancer("unnamed", "kubernetes", lbv1.WorkloadCluster), w.balancer("after", "other", lbv1.WorkloadCluster)
	change(w.fixture, vm, markForRemoval)
	w.deleteMachine(vm)
	w.waitForMark(marked, "")
	change(w.fixture, seen, markForRemoval) // its reconcile shows that the first was reconciled
	w.waitForMark(after, "vm-2")
	w.deleteMachine(seen)
	w.waitForDeletion(after)
	for _, lb := range []*lbv1.LoadBalancer{marked, unnamed} {
		w.Expect(w.get(lb)).To(Succeed())
		w.Expect(lb.DeletionTimestamp.IsZero()).To(BeTrue())
	}
}

func TestMissedMachineDeletions(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	vm := w.machine("vm-1", "guest")
	lb := w.balancer("one", "guest", lbv1.WorkloadCluster)
	change(w.fixture, vm, markForRemoval)
	w.waitForMark(lb, "vm-1")
	w.stop()
	w.Expect(user.Delete(t.Context(), vm)).To(Succeed())
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) { vm.Finalizers = nil })
	w.waitForDeletion(vm)
	w.Expect(w.get(lb)).To(Succeed())
	w.start()
	w.waitForDeletion(lb)
}

func TestCancelledRemovalKeepsLoadBalancers(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	vm := w.machine("vm-1", "guest")
	lb := w.balancer("one", "guest", lbv1.WorkloadCluster)
	change(w.fixture, vm, markForRemoval)
	w.waitForMark(lb, "vm-1")
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) { vm.Annotations = nil })
	w.waitForMark(lb, "")
	w.Expect(user.Delete(t.Context(), vm)).To(Succeed())
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) { vm.Finalizers = nil })
	w.waitForDeletion(vm)
	w.Expect(w.get(lb)).To(Succeed())
	w.Expect(lb.DeletionTimestamp).To(BeNil())
}

func TestFormerFinalizersAreRemoved(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "vm", Finalizers: []string{lbv1.VMFinalizer, "example.com/other"}}}
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "vm", Finalizers: []string{"example.com/other", lbv1.VMIFinalizer}}}
	w.Expect(user.Create(t.Context(), vm)).To(Succeed())
	w.Expect(user.Create(t.Context(), vmi)).To(Succeed())
	leaving := w.machine("vm-1", "guest")
	change(w.fixture, leaving, func(vm *kubevirtv1.VirtualMachine) {
		markForRemoval(vm)
		vm.Finalizers = []string{lbv1.VMFinalizer}
	})
	lb := w.balancer("one", "guest", lbv1.WorkloadCluster)
	w.Expect(user.Delete(t.Context(), leaving)).To(Succeed())
	w.start()
	for _, o := range []client.Object{vm, vmi} {
		w.Eventually(func(g Gomega) {
			g.Expect(w.get(o)).To(Succeed())
			g.Expect(o.GetFinalizers()).To(Equal([]string{"example.com/other"}))
		}).Should(Succeed())
	}
	w.waitForDeletion(leaving)
	w.waitForDeletion(lb)
}

// whileStopped runs do while no manager runs.
func (w *guestFixture) whileStopped(do func()) {
	w.t.Helper()
	w.stop()
	do()
	w.start()
}

// deleteMachine deletes a machine and its finalizer as Rancher does.
func (w *guestFixture) deleteMachine(vm *kubevirtv1.VirtualMachine) {
	w.t.Helper()
	change(w.fixture, vm, markForRemoval)
	w.Expect(user.Delete(w.t.Context(), vm)).To(Succeed())
	change(w.fixture, vm, func(vm *kubevirtv1.VirtualMachine) { vm.Finalizers = nil })
	w.waitForDeletion(vm)
}

// waitForMachinesRecorded waits until it is recorded that the load balancer's cluster has machines.
func (w *guestFixture) waitForMachinesRecorded(lb *lbv1.LoadBalancer) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.get(lb)).To(Succeed())
		g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.MachinesSeenAnnotation, "true"))
	}).Should(Succeed())
}

func (w *guestFixture) disk(name string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	disk := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
	disk.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	disk.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	w.Expect(user.Create(w.t.Context(), disk)).To(Succeed())
	return disk
}

func TestOrphansAreDeletedAtStart(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	w.start()
	cluster := w.name // unique cluster names, because all namespaces are searched
	one, two := w.machine("vm-1", cluster), w.machine("vm-2", cluster)
	early := w.balancer("early", cluster, lbv1.WorkloadCluster)
	w.waitForMachinesRecorded(early)
	late := w.balancer("late", cluster, lbv1.WorkloadCluster)
	w.waitForMachinesRecorded(late)
	var never *lbv1.LoadBalancer
	w.whileStopped(func() {
		w.deleteMachine(one)
		w.deleteMachine(two)
		never = w.balancer("never-had-machines", "elsewhere-"+cluster, lbv1.WorkloadCluster)
	})
	w.waitForDeletion(early)
	w.waitForDeletion(late)
	w.Expect(w.get(never)).To(Succeed())
}

func TestLoadBalancersStayWhileClusterHasResources(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]func(w *guestFixture, cluster string){
		"a disk of a machine that will be restored": func(w *guestFixture, cluster string) { w.disk(cluster + "-pool1-abcde-disk-0-xyz") },
		"a machine in another namespace": func(w *guestFixture, cluster string) {
			other := newGuestFixture(w.t)
			other.machine("vm", cluster)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGuestFixture(t)
			w.start()
			cluster := w.name
			vm := w.machine("vm-1", cluster)
			lb := w.balancer("one", cluster, lbv1.WorkloadCluster)
			w.waitForMachinesRecorded(lb)
			// after belongs to a removed cluster and is reconciled later: once it is deleted, lb has been reconciled, too.
			gone := w.machine("gone-1", "gone-"+cluster)
			after := w.balancer("z-after", "gone-"+cluster, lbv1.WorkloadCluster)
			w.waitForMachinesRecorded(after)
			w.whileStopped(func() {
				w.deleteMachine(vm)
				w.deleteMachine(gone)
				left(w, cluster)
			})
			w.waitForDeletion(after)
			w.Expect(w.get(lb)).To(Succeed())
			w.Expect(lb.DeletionTimestamp.IsZero()).To(BeTrue())
		})
	}
}

// mute is a Harvester that does not respond to lists.
type mute struct{ client.Reader }

func (mute) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

func TestUnavailableAPIServerDeletesNoLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newGuestFixture(t)
	lb := w.balancer("one", w.name, lbv1.WorkloadCluster)
	change(w.fixture, lb, func(lb *lbv1.LoadBalancer) {
		lb.Annotations = map[string]string{lbv1.MachinesSeenAnnotation: "true"}
	})
	orphans := &controllers.OrphanReconciler{Client: noMachines{user}, Live: mute{}}
	_, err := orphans.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(lb)})
	w.Expect(err).To(MatchError(ContainSubstring("no answer")))
	w.Expect(w.get(lb)).To(Succeed())
}

// noMachines is a cache without machines.
type noMachines struct{ client.Client }

func (noMachines) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
