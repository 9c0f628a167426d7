// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/watch"
)

const (
	// machineAnnotation on a Node names its virtual machine on Harvester.
	machineAnnotation = "cloudprovider.harvesterhci.io/virtual-machine"
	// zoneAnnotation on a Node records the value of the zone label that this controller has set.
	zoneAnnotation = "cloudprovider.harvesterhci.io/zone"
	// regionAnnotation on a Node records the value of the region label that this controller has set.
	regionAnnotation = "cloudprovider.harvesterhci.io/region"
)

// Informer delivers changes.
type Informer interface {
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
}

// follower updates Nodes when their virtual machines change.
type follower struct {
	*Instances
	guest kubernetes.Interface
	queue workqueue.TypedRateLimitingInterface[string]

	events  record.EventRecorder
	written patch.Repeats
}

// Follow updates zone and region of Nodes when their virtual machines have moved to another host, or the labels of their host have
// changed. The framework would do this only for Nodes that wait to be initialized. If a Node waits because its virtual machine was
// unknown, Follow triggers its initialization when the virtual machine is known. Follow returns when ctx ends.
func (i *Instances) Follow(ctx context.Context, guest kubernetes.Interface, nodes, instances, hosts Informer) error {
	recording := record.NewBroadcaster(record.WithContext(ctx))
	defer recording.Shutdown()
	recording.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: guest.CoreV1().Events("")})
	f := &follower{Instances: i, guest: guest, events: recording.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: "harvester-cloud-provider"}), queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		watch.Backoff[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "harvester-nodes"})}
	// Do not wait for hosts: the account may not be allowed to read them.
	if _, err := hosts.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { f.hostChanged(nil, o) }, UpdateFunc: f.hostChanged,
	}); err != nil {
		return err
	}
	if _, err := nodes.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { f.nodeChanged(nil, o) }, UpdateFunc: f.nodeChanged, DeleteFunc: f.nodeDeleted,
	}); err != nil {
		return err
	}
	if _, err := instances.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { f.instanceChanged(nil, o) }, UpdateFunc: f.instanceChanged,
	}); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		f.queue.ShutDown()
	}()
	for f.processNext(ctx) {
	}
	return nil
}

// nodeChanged enqueues a Node that was added, and one that was initialized, possibly by another controller.
func (f *follower) nodeChanged(was, is any) {
	node, ok := is.(*corev1.Node)
	former, _ := was.(*corev1.Node)
	if ok && (former == nil || needsInitialization(former) && !needsInitialization(node)) {
		f.queue.Add(node.Name)
	}
}

// nodeDeleted drops the record that the virtual machine of the Node was found.
func (f *follower) nodeDeleted(o any) {
	if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
		f.seen.Delete(name)
	}
}

// hostChanged enqueues all Nodes when the zone or region of a host has changed, which is rare.
func (f *follower) hostChanged(was, is any) {
	host, ok := is.(*corev1.Node)
	former, _ := was.(*corev1.Node)
	if !ok || former != nil && locationIn(former.Labels) == locationIn(host.Labels) {
		return
	}
	nodes, err := f.nodes.List(labels.Everything())
	if err != nil {
		return // cannot happen: it lists from the cache
	}
	for _, node := range nodes {
		f.queue.Add(node.Name)
	}
}

// instanceChanged enqueues the Node of an instance whose host, zone, region or addresses have changed.
func (f *follower) instanceChanged(was, is any) {
	vmi, ok := is.(*kubevirtv1.VirtualMachineInstance)
	former, _ := was.(*kubevirtv1.VirtualMachineInstance)
	if !ok || former != nil && former.Status.NodeName == vmi.Status.NodeName && locationIn(former.Annotations) == locationIn(vmi.Annotations) &&
		slices.EqualFunc(former.Status.Interfaces, vmi.Status.Interfaces, func(a, b kubevirtv1.VirtualMachineInstanceNetworkInterface) bool {
			return a.IP == b.IP && slices.Equal(a.IPs, b.IPs)
		}) {
		return
	}
	for _, name := range f.nodesOf(vmi) {
		f.queue.Add(name)
	}
}

// nodesOf returns the Nodes that may belong to the virtual machine, by provider ID or name.
func (f *follower) nodesOf(vmi *kubevirtv1.VirtualMachineInstance) []string {
	nodes, err := f.nodes.List(labels.Everything())
	if err != nil {
		return nil // cannot happen: it lists from the cache
	}
	owner := metav1.GetControllerOf(vmi)
	var list []string
	for _, node := range nodes {
		uid := uidOf(node)
		if owner != nil && uid == owner.UID || uid == "" && (slices.Contains(Hostname(vmi), node.Name) || node.Name == vmi.Name || f.guests.matches(vmi.UID, node.Name)) {
			list = append(list, node.Name)
		}
	}
	return list
}

// processNext returns false when the queue is shut down.
func (f *follower) processNext(ctx context.Context) bool {
	name, ended := f.queue.Get()
	if ended {
		return false
	}
	defer f.queue.Done(name)
	if err := f.reconcile(ctx, name); err != nil {
		if !apierrors.IsConflict(err) && !errors.Is(err, patch.ErrBehind) {
			klog.FromContext(ctx).Info("Updating a Node failed", "node", name, "reason", err.Error())
		}
		f.queue.AddRateLimited(name)
		return true
	}
	f.queue.Forget(name)
	return true
}

func (f *follower) reconcile(ctx context.Context, name string) error {
	node, err := f.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	vm, err := f.find(ctx, node)
	if err != nil || vm == nil {
		return err
	}
	vmi, err := f.harvester.Instance(ctx, vm.Name)
	if err != nil || vmi == nil {
		return err
	}
	place, err := f.locate(ctx, vmi)
	if err != nil {
		return err
	}
	change := changeOf(node, vm, place)
	if needsInitialization(node) {
		// The framework processes the Node when it changes.
		if _, err := f.addresses.Of(node, vmi, f.balanced); err != nil {
			return nil //nolint:nilerr // a change of the instance enqueues it
		}
		change.Labels = nil
		delete(change.Annotations, zoneAnnotation)
		delete(change.Annotations, regionAnnotation)
	}
	return f.write(ctx, node, change)
}

// needsInitialization reports whether the framework must still initialize the Node.
func needsInitialization(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// change is an update of a Node; nil values remove keys.
type change struct {
	Labels, Annotations map[string]*string
}

// changeOf returns the update of a Node for its virtual machine and its zone and region. It keeps values that Harvester does not report,
// and removes values that it set earlier and that no longer hold. The framework gives precedence to the beta labels, so they are set,
// too.
func changeOf(node *corev1.Node, vm *kubevirtv1.VirtualMachine, at location) change {
	c := change{Labels: map[string]*string{}, Annotations: map[string]*string{}}
	for _, part := range []struct {
		value, noted string
		labels       []string
	}{
		{at.zone, zoneAnnotation, []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}},
		{at.region, regionAnnotation, []string{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion}},
	} {
		told, isTold := node.Annotations[part.noted]
		switch {
		case part.value != "":
			set(c.Annotations, node.Annotations, part.noted, part.value)
			for _, label := range part.labels {
				set(c.Labels, node.Labels, label, part.value)
			}
		case at.certain && isTold:
			c.Annotations[part.noted] = nil
			for _, label := range part.labels {
				if told != "" && node.Labels[label] == told { // another value was set by another client
					c.Labels[label] = nil
				}
			}
		}
	}
	set(c.Annotations, node.Annotations, machineAnnotation, vm.Namespace+"/"+vm.Name)
	return c
}

func set(in map[string]*string, has map[string]string, key, value string) {
	if has[key] != value {
		in[key] = &value
	}
}

func (f *follower) write(ctx context.Context, node *corev1.Node, c change) error {
	if len(c.Labels)+len(c.Annotations) == 0 {
		return nil
	}
	err := f.written.Write(ctx, patch.Typed[*corev1.Node](f.guest.CoreV1().Nodes().Patch), node, c.of(node))
	if undone, news := patch.ReportableError(err); news {
		f.events.Event(node, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, undone.Error())
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing labels: %w", err)
	}
	return nil
}

// of returns a copy of the Node with the change applied.
func (c change) of(node *corev1.Node) *corev1.Node {
	changed := node.DeepCopy()
	changed.Labels = patch.SetKeys(changed.Labels, c.Labels)
	changed.Annotations = patch.SetKeys(changed.Annotations, c.Annotations)
	return changed
}
