// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
)

const server, otherServer = "vcenter-1", "vcenter-2"

// countingReader is a manager's client that counts the objects read from its cache.
type countingReader struct {
	client.Client
	from client.Reader

	lists, whole, objects int
}

func (r *countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return r.from.Get(ctx, key, o, opts...)
}

func (r *countingReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.lists++
	if options := (&client.ListOptions{}).ApplyOptions(opts); options.FieldSelector == nil && options.LabelSelector == nil {
		r.whole++
	}
	err := r.from.List(ctx, list, opts...)
	r.objects += meta.LenList(list)
	return err
}

// accounts maps accounts to the VSphereClusters that use them.
type accounts map[string][]client.ObjectKey

func (accounts) ForVM(context.Context, *infrav1.VSphereCluster, *infrav1.VSphereVM) (*vcenter.Session, error) {
	return nil, vcenter.ErrUnreachable
}

func (a accounts) ClustersOf(account string) []client.ObjectKey { return a[account] }

// lister serves a list, which is all that a cache without an API server needs.
type lister struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported makes the cache list first.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// cached returns a manager's cache with the given objects, without an API server.
func cached(tb testing.TB, vms []infrav1.VSphereVM, clusters ...infrav1.VSphereCluster) *countingReader {
	tb.Helper()
	g := NewWithT(tb)
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"VSphereVM", "VSphereCluster"} {
		mapper.Add(infrav1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	objects, err := cache.New(&rest.Config{}, cache.Options{
		Scheme: scheme, Mapper: mapper,
		NewInformer: func(_ toolscache.ListerWatcher, o runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			var list runtime.Object = &infrav1.VSphereVMList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: vms}
			if _, ok := o.(*infrav1.VSphereCluster); ok {
				list = &infrav1.VSphereClusterList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: clusters}
			}
			return toolscache.NewSharedIndexInformer(lister{&toolscache.ListWatch{
				ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
			}}, o, resync, indexers)
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects.IndexField(tb.Context(), &infrav1.VSphereVM{}, eventIndex, eventKeys)).To(Succeed())
	_, err = objects.GetInformer(tb.Context(), &infrav1.VSphereCluster{}, cache.BlockUntilSynced(false))
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = objects.Start(tb.Context()) }()
	g.Expect(objects.WaitForCacheSync(tb.Context())).To(BeTrue())
	return &countingReader{from: objects}
}

// fleet returns running machines, half of them on another vCenter, in clusters of a hundred.
func fleet(n int) []infrav1.VSphereVM {
	vms := make([]infrav1.VSphereVM, n)
	for i := range vms {
		vm := &vms[i]
		vm.Namespace, vm.Name, vm.UID = "fleet", fmt.Sprintf("vm-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
		vm.Labels = map[string]string{clusterv1.ClusterNameLabel: fmt.Sprintf("cluster-%d", i/100)}
		vm.Spec.Server, vm.Spec.BiosUUID = server, fmt.Sprintf("BIOS-%d", i)
		if i%2 == 1 {
			vm.Spec.Server = otherServer
		}
		vm.Status.Ready, vm.Status.VMRef = ptr.To(true), fmt.Sprintf("VirtualMachine:vm-%d", i)
		status.True(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	}
	return vms
}

func infraCluster(name string) infrav1.VSphereCluster {
	return infrav1.VSphereCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fleet", Name: name + "-infra", Labels: map[string]string{clusterv1.ClusterNameLabel: name},
	}}
}

func named(requests []reconcile.Request) []string {
	names := []string{}
	for _, request := range requests {
		names = append(names, request.Name)
	}
	return names
}

var foreignTask = vcenter.Event{
	Server: server, Kind: vcenter.TaskDone, Task: "task-1", InstanceUUID: "somebody", BiosUUID: "somebody-else", Name: "backup-proxy",
}

func TestForeignTaskReadsNoObjects(t *testing.T) {
	g := NewWithT(t)
	c := cached(t, fleet(5000))
	r := &Reconciler{Client: c}
	g.Expect(r.vmsOfEvent(t.Context(), foreignTask)).To(BeEmpty())
	g.Expect(r.vmsOfEvent(t.Context(), vcenter.Event{Server: server, Kind: vcenter.VMChanged, InstanceUUID: "somebody"})).To(BeEmpty())
	g.Expect(r.vmsOfEvent(t.Context(), vcenter.Event{Server: server, Kind: vcenter.InventoryChanged})).To(BeEmpty())
	g.Expect(c.whole).To(BeZero(), "each look-up is one in an index")
	g.Expect(c.objects).To(BeZero())
}

func TestEventEnqueuesAffectedVMsOnly(t *testing.T) {
	vms := fleet(400)
	vms[0].Status.TaskRef = "task-7"
	vms[1].Status.TaskRef = "task-7" // on the other vCenter
	status.False(&vms[2], infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTemplateNotFoundReason, "")
	status.False(&vms[3], infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTemplateNotFoundReason, "")
	for _, i := range []int{4, 5, 6, 8} {
		vms[i].DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	for _, i := range []int{4, 5} { // possibly lost clones
		vms[i].Spec.BiosUUID, vms[i].Status.VMRef, vms[i].Status.CloneMode = "", "", infrav1.FullClone
	}
	c := cached(t, vms, infraCluster("cluster-0"), infraCluster("cluster-1"))
	r := &Reconciler{Client: c, VCenters: accounts{
		"one":  {{Namespace: "fleet", Name: "cluster-1-infra"}},
		"gone": {{Namespace: "fleet", Name: "no-such-cluster"}},
	}}
	r.tasks.add(taskKey{server: server, task: "task-8"}, client.ObjectKey{Namespace: "fleet", Name: "vm-20"})
	for name, test := range map[string]struct {
		event vcenter.Event
		want  []string
	}{
		"virtual machine by instance UUID": {vcenter.Event{Server: server, Kind: vcenter.VMChanged, InstanceUUID: "uid-10"}, []string{"vm-10"}},
		"virtual machine by BIOS UUID":     {vcenter.Event{Server: server, Kind: vcenter.VMChanged, BiosUUID: "bios-12"}, []string{"vm-12"}},
		"virtual machine by reference":     {vcenter.Event{Server: server, Kind: vcenter.VMChanged, VM: "VirtualMachine:vm-14"}, []string{"vm-14"}},
		"task that an object records":      {vcenter.Event{Server: server, Kind: vcenter.TaskDone, Task: "task-7"}, []string{"vm-0"}},
		"task just started":                {vcenter.Event{Server: server, Kind: vcenter.TaskDone, Task: "task-8"}, []string{"vm-20"}},
		"task nobody knows":                {foreignTask, []string{"vm-4"}},
		"inventory":                        {vcenter.Event{Server: server, Kind: vcenter.InventoryChanged}, []string{"vm-2"}},
		"account of a cluster that went":   {vcenter.Event{Server: server, Kind: vcenter.SessionDown, Account: "gone"}, []string{}},
		"account nobody uses":              {vcenter.Event{Server: server, Kind: vcenter.SessionDown, Account: "other"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(named(r.vmsOfEvent(t.Context(), test.event))).To(ConsistOf(test.want))
		})
	}
	g := NewWithT(t)
	g.Expect(c.whole).To(BeZero())
	var ofOne []string
	for i := 100; i < 200; i += 2 {
		ofOne = append(ofOne, vms[i].Name)
	}
	down := vcenter.Event{Server: server, Kind: vcenter.SessionDown, Account: "one"}
	g.Expect(named(r.vmsOfEvent(t.Context(), down))).To(ConsistOf(ofOne), "only the cluster's machines on this server")
	g.Expect(r.vmsOfEvent(t.Context(), vcenter.Event{Kind: vcenter.SessionDown})).To(HaveLen(len(vms)), "the manager's own account may be anybody's")
}

func BenchmarkForeignTask(b *testing.B) {
	r := &Reconciler{Client: cached(b, fleet(10000))}
	b.ReportAllocs()
	for b.Loop() {
		if woken := r.vmsOfEvent(b.Context(), foreignTask); len(woken) > 0 {
			b.Fatal(woken)
		}
	}
}
