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
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// ErrSyncing reports that an informer has not synced yet. The askers of the connection are enqueued when it has.
var ErrSyncing = errors.New("the informer for Harvester has not synced yet")

const (
	// unused is how long an informer is kept after its last use, in a namespace without machines of an asker. In one that its last asker has
	// left, it is not kept.
	unused = 10 * time.Minute
	// tidying is the interval at which a connection checks for such informers, in memory.
	tidying = time.Minute
)

// scoped is the cache of one namespace or of cluster-scoped kinds. It ends with its last informer.
type scoped struct {
	cache     cache.Cache
	end       context.CancelFunc
	informers map[string]*informer // by Go type
}

// informer is the informer of one type in one namespace.
type informer struct {
	cache.Informer

	of    client.Object
	ctx   context.Context //nolint:containedctx // it ends when the informer is stopped
	end   context.CancelFunc
	asked time.Time // when its objects were last read
	// denied is the denied permission to read the type, or nil.
	denied error
}

// Get reads an object, and returns ErrSyncing if the informer has not synced. An invalid name is NotFound for every kind: users write
// names, and a client refuses to send invalid ones.
func (c *Connection) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if len(content.IsPathSegmentName(key.Name)) > 0 {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch eventTargetOf(o) {
	case noInformer:
		return c.client.Get(ctx, key, o, opts...)
	case noTarget:
		return c.recent.get(question{typeOf(o), key}, o, func() error { return c.client.Get(ctx, key, o, opts...) })
	}
	from, err := c.syncedCache(o, key.Namespace) //nolint:contextcheck // The informers outlive the request.
	if err != nil {
		return err
	}
	return from.Get(ctx, key, o, opts...)
}

// List reads the objects of one namespace, or of a cluster-scoped kind. It returns ErrSyncing if the informer has not synced.
func (c *Connection) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	switch eventTargetOf(list) {
	case noInformer:
		return c.client.List(ctx, list, opts...)
	case noTarget:
		all := question{typeOf(list), client.ObjectKey{Namespace: options.Namespace}}
		return c.recent.get(all, list, func() error { return c.client.List(ctx, list, client.InNamespace(options.Namespace)) })
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
	from, err := c.syncedCache(item.(client.Object), options.Namespace) //nolint:contextcheck // As above.
	if err != nil {
		return err
	}
	return from.List(ctx, list, opts...)
}

// syncedCache returns the cache of a namespace once the informer of the kind has synced.
func (c *Connection) syncedCache(o client.Object, namespace string) (client.Reader, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in, err := c.cacheOf(namespace)
	if err != nil {
		return nil, err
	}
	kind := typeOf(o)
	known := in.informers[kind]
	if known == nil {
		if known, err = c.startInformer(in, o); err != nil {
			c.endUnused(namespace)
			return nil, err
		}
		in.informers[kind] = known
	}
	known.asked = c.clock.Now()
	switch {
	case known.denied != nil:
		return nil, &refusedRead{known.denied}
	case !known.HasSynced():
		return nil, fmt.Errorf("%w: %s", ErrSyncing, kind)
	}
	return in.cache, nil
}

// cacheOf creates the cache of a namespace on first use.
func (c *Connection) cacheOf(namespace string) (*scoped, error) {
	if known := c.caches[namespace]; known != nil {
		return known, nil
	}
	options := cache.Options{
		Scheme: c.scheme, Mapper: c.mapper, HTTPClient: c.watching, DefaultTransform: strip,
		ReaderFailOnMissingInformer: true, // in case it was stopped: a read must not start informers that are not tracked here
		DefaultWatchErrorHandler:    func(ctx context.Context, r *toolscache.Reflector, err error) { c.watchFailed(ctx, namespace, r, err) },
	}
	if namespace != "" {
		// It restricts requests to the namespace like DefaultNamespaces, which leaks goroutines if an informer ends before it has synced.
		options.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", namespace)
	}
	made, err := cache.New(c.account.config, options)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(c.ctx)
	known := &scoped{cache: made, end: end, informers: map[string]*informer{}}
	c.caches[namespace] = known
	go func() {
		if err := made.Start(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Informers stopped", "namespace", namespace)
		}
	}()
	return known, nil
}

// startInformer starts an informer and enqueues all askers when it has synced.
func (c *Connection) startInformer(in *scoped, o client.Object) (*informer, error) {
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
	ctx, end := context.WithCancel(c.ctx)
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), started.HasSynced, registration.HasSynced) {
			c.enqueueAsked()
		}
	}()
	return &informer{Informer: started, of: o, ctx: ctx, end: end}, nil
}

// stopUnused periodically stops unused informers.
func (c *Connection) stopUnused() {
	ticker := c.clock.NewTicker(tidying)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			c.expire()
		case <-c.ctx.Done():
			return
		}
	}
}

// expire stops informers that have not been read for a while, and drops expired cache entries. Informers of namespaces with machines of
// askers are kept, because their events enqueue the askers; so are the few informers of cluster-scoped kinds.
func (c *Connection) expire() {
	c.recent.expire()
	c.watches.expire(time.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	used := map[string]bool{"": true}
	for _, namespace := range c.askers {
		used[namespace] = true
	}
	for namespace, in := range c.caches {
		for kind, known := range in.informers {
			if !used[namespace] && c.clock.Since(known.asked) >= unused {
				c.stop(namespace, kind)
			}
		}
	}
}

// retire makes the next check stop the informers of a namespace that its last asker has left, unless they are read until then: when the
// clusters of many namespaces come and go, the goroutines, buffers and watches of all informers would add up. The caller must hold the
// lock.
func (c *Connection) retire(namespace string) {
	in := c.caches[namespace]
	if in == nil || namespace == "" {
		return
	}
	for _, used := range c.askers {
		if used == namespace {
			return
		}
	}
	for _, known := range in.informers {
		known.asked = time.Time{}
	}
}

// stop ends an informer, and with the last one the cache of its namespace. The caller must hold the lock.
func (c *Connection) stop(namespace, kind string) {
	in := c.caches[namespace]
	known := in.informers[kind]
	delete(in.informers, kind)
	known.end()
	if err := in.cache.RemoveInformer(c.ctx, known.of); err != nil {
		ctrl.LoggerFrom(c.ctx).Error(err, "Stopping an informer failed", "namespace", namespace, "kind", kind)
	}
	c.endUnused(namespace)
}

// endUnused ends the cache of a namespace without informers.
func (c *Connection) endUnused(namespace string) {
	if in := c.caches[namespace]; len(in.informers) == 0 {
		in.end()
		delete(c.caches, namespace)
	}
}

// typeOf returns the name that a Reflector uses for the type of an object.
func typeOf(o any) string { return reflect.TypeOf(o).String() }

// watchFailed is called when an informer is no longer up to date. The informer keeps retrying.
func (c *Connection) watchFailed(ctx context.Context, namespace string, r *toolscache.Reflector, err error) {
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
	case apierrors.IsForbidden(err):
		c.recordDenial(namespace, r.TypeDescription(), err) //nolint:contextcheck // it continues after the watch has ended
	default:
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		c.startProbing()
	}
}

// changed enqueues the askers affected by a change of an object on Harvester. was is nil if the object was created or deleted.
func (c *Connection) changed(was, is any) {
	o, ok := is.(client.Object)
	if !ok {
		return
	}
	switch eventTargetOf(o) {
	case owner:
		if !unchanged(was, o) {
			c.enqueueOwner(o)
		}
	case everyCluster:
		c.nodeChanged(was, o.(*corev1.Node))
	case waiting:
		c.enqueueAwaiting()
	}
}

// createdByFaultline reports whether a virtual machine was created by Faultline.
func createdByFaultline(o client.Object) bool { return o.GetLabels()[infrav1.MachineIDLabel] != "" }

func (c *Connection) enqueueOwner(o client.Object) {
	namespace, name, ok := infrav1.ParseOwner(o.GetAnnotations()[infrav1.OwnerAnnotation])
	if !ok {
		return
	}
	kind := Cluster
	switch o.(type) {
	case *kubevirtv1.VirtualMachine, *kubevirtv1.VirtualMachineInstance:
		kind = Machine
	}
	c.enqueuer.enqueue(kind, client.ObjectKey{Namespace: namespace, Name: name})
}

// nodeChanged enqueues the clusters when the failure domain or the schedulability of a host may have changed, the machines on it when its
// labels or its readiness have changed, and the awaiting askers when its labels have changed. Periodic updates of the kubelet change none
// of these.
func (c *Connection) nodeChanged(was any, node *corev1.Node) {
	former, _ := was.(*corev1.Node)
	labelled := former == nil || !maps.Equal(former.Labels, node.Labels)
	turned := former != nil && readiness(former) != readiness(node)
	if !labelled && !turned && former.Spec.Unschedulable == node.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(former.Spec.Taints, node.Spec.Taints) {
		return
	}
	c.enqueueKind(func(who Requester) bool { return who.Kind == Cluster })
	if labelled || turned {
		c.enqueueMachinesOn(node.Name)
	}
	if labelled {
		c.enqueueAwaiting()
	}
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	at := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if at < 0 {
		return corev1.ConditionUnknown
	}
	return node.Status.Conditions[at].Status
}

// enqueueMachinesOn enqueues the machines on a host. It searches the caches: labels and readiness of hosts rarely change.
func (c *Connection) enqueueMachinesOn(host string) {
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
		err := in.List(c.ctx, instances, client.UnsafeDisableDeepCopy)
		if stopped := (*cache.ErrResourceNotCached)(nil); err != nil && !errors.As(err, &stopped) {
			ctrl.LoggerFrom(c.ctx).Error(err, "Listing virtual machines on a host failed", "host", host)
		}
		for i := range instances.Items {
			if instances.Items[i].Status.NodeName == host {
				c.enqueueOwner(&instances.Items[i])
			}
		}
	}
}
