// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// ErrSyncing says that an informer has not brought its objects yet. Whoever uses the connection is woken when it has.
var ErrSyncing = errors.New("what is on Harvester is being read for the first time")

// scoped is what is known of one namespace, or of what has none.
type scoped struct {
	cache     cache.Cache
	informers map[string]*informer // by Go type
	denied    map[string]*denial   // types that the account may not see, or not any more
}

// informer has the objects of one type in one namespace.
type informer struct {
	cache.Informer

	of client.Object
}

// denial is the refusal of a right to see a type, and when somebody last wanted to.
type denial struct {
	err   error
	asked time.Time
}

// Get reads an object; ErrSyncing while it is too early to say.
func (c *Connection) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if whom(o) == noInformer {
		return c.client.Get(ctx, key, o, opts...)
	}
	from, err := c.informed(o, key.Namespace)
	if err != nil {
		return err
	}
	return from.Get(ctx, key, o, opts...)
}

// List reads the objects of one namespace, or of a kind that is in none; ErrSyncing while it is too early to say.
func (c *Connection) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if whom(list) == noInformer {
		return c.client.List(ctx, list, opts...)
	}
	gvk, err := apiutil.GVKForObject(list, c.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	item, err := c.scheme.New(gvk)
	if err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	from, err := c.informed(item.(client.Object), options.Namespace)
	if err != nil {
		return err
	}
	return from.List(ctx, list, opts...)
}

// informed is the cache of a namespace once it has all objects of the kind.
func (c *Connection) informed(o client.Object, namespace string) (client.Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in, err := c.in(namespace)
	if err != nil {
		return nil, err
	}
	kind := typeOf(o)
	known := in.informers[kind]
	if known == nil {
		if known, err = c.inform(in, o); err != nil {
			return nil, err
		}
		in.informers[kind] = known
	}
	switch denied := in.denied[kind]; {
	case denied != nil:
		denied.asked = time.Now()
		return nil, &refusedRead{denied.err}
	case !known.HasSynced():
		return nil, fmt.Errorf("%w: %s", ErrSyncing, kind)
	}
	return in.cache, nil
}

// in makes the cache of a namespace when it is first needed.
func (c *Connection) in(namespace string) (*scoped, error) {
	if known := c.caches[namespace]; known != nil {
		return known, nil
	}
	options := cache.Options{
		Scheme: c.scheme, Mapper: c.mapper, HTTPClient: c.watching, DefaultTransform: strip,
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) { c.lost(ctx, namespace, r, err) },
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	made, err := cache.New(c.account.config, options)
	if err != nil {
		return nil, err
	}
	known := &scoped{cache: made, informers: map[string]*informer{}, denied: map[string]*denial{}}
	c.caches[namespace] = known
	go func() {
		if err := made.Start(c.ctx); err != nil {
			ctrl.LoggerFrom(c.ctx).Error(err, "The informers ended", "namespace", namespace)
		}
	}()
	return known, nil
}

// inform starts an informer, and wakes who has asked when it has synced.
func (c *Connection) inform(in *scoped, o client.Object) (*informer, error) {
	started, err := in.cache.GetInformer(c.ctx, o, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	registration, err := started.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.changed(nil, o) },
		UpdateFunc: func(was, is any) { c.changed(was, is) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			c.changed(nil, o)
		},
	})
	if err != nil {
		return nil, err
	}
	arrived := func() bool { return started.IsStopped() || started.HasSynced() && registration.HasSynced() }
	go func() {
		if toolscache.WaitForCacheSync(c.ctx.Done(), arrived) {
			c.wakeAll()
		}
	}()
	return &informer{Informer: started, of: o}, nil
}

// typeOf is how a Reflector calls the type of an object.
func typeOf(o any) string { return reflect.TypeOf(o).String() }

// lost is told why an informer is no longer up to date. It goes on trying.
func (c *Connection) lost(ctx context.Context, namespace string, r *toolscache.Reflector, err error) {
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
	case apierrors.IsForbidden(err):
		c.refused(namespace, r.TypeDescription(), err) //nolint:contextcheck // it goes on when the watch has ended
	default:
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		c.suspect()
	}
}

// changed wakes whom a change of an object on Harvester concerns. was is nil when the object has come or gone.
func (c *Connection) changed(was, is any) {
	o, ok := is.(client.Object)
	if !ok {
		return
	}
	switch whom(o) {
	case owner:
		if !alike(was, o) {
			c.wakeOwner(o)
		}
	case everyCluster:
		c.nodeChanged(was, o.(*corev1.Node))
	case waiting:
		c.wakeAwaiting()
	}
}

// ours reports whether a virtual machine was made by a Faultline.
func ours(o client.Object) bool { return o.GetLabels()[infrav1.MachineIDLabel] != "" }

func (c *Connection) wakeOwner(o client.Object) {
	namespace, name, ok := infrav1.ParseOwner(o.GetAnnotations()[infrav1.OwnerAnnotation])
	if !ok {
		return
	}
	kind := Cluster
	switch o.(type) {
	case *kubevirtv1.VirtualMachine, *kubevirtv1.VirtualMachineInstance:
		kind = Machine
	}
	c.wakes.one(kind, client.ObjectKey{Namespace: namespace, Name: name})
}

// nodeChanged wakes the clusters when a host may be another part of a failure domain or be another state, the machines on it when its labels or
// its readiness have changed, and those that wait when its labels have. What a kubelet reports all the time is neither.
func (c *Connection) nodeChanged(was any, node *corev1.Node) {
	former, _ := was.(*corev1.Node)
	labelled := former == nil || !maps.Equal(former.Labels, node.Labels)
	turned := former != nil && readiness(former) != readiness(node)
	if !labelled && !turned && former.Spec.Unschedulable == node.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(former.Spec.Taints, node.Spec.Taints) {
		return
	}
	c.wakeKind(func(who Asker) bool { return who.Kind == Cluster })
	if labelled || turned {
		c.wakeMachinesOn(node.Name)
	}
	if labelled {
		c.wakeAwaiting()
	}
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	at := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if at < 0 {
		return corev1.ConditionUnknown
	}
	return node.Status.Conditions[at].Status
}

// wakeMachinesOn looks through what is in memory: labels and readiness of hosts change rarely.
func (c *Connection) wakeMachinesOn(host string) {
	kind := typeOf(&kubevirtv1.VirtualMachineInstance{})
	c.mu.Lock()
	var known []client.Reader
	for _, in := range c.caches {
		if informer := in.informers[kind]; informer != nil && informer.HasSynced() {
			known = append(known, in.cache)
		}
	}
	c.mu.Unlock()
	for _, in := range known {
		instances := &kubevirtv1.VirtualMachineInstanceList{}
		if err := in.List(c.ctx, instances, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(c.ctx).Error(err, "Looking for machines on a host", "host", host)
		}
		for i := range instances.Items {
			if instances.Items[i].Status.NodeName == host {
				c.wakeOwner(&instances.Items[i])
			}
		}
	}
}
