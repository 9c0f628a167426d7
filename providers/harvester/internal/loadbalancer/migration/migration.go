// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration takes over the allocations of earlier implementations: from kube-vip's ConfigMap, whose ranges become pools, and from
// another manager of the same pools, whose load balancers keep the addresses that they show. It runs when a manager becomes leader, and
// no address is allocated before it has finished.
package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// Name of the ConfigMap in every namespace. The one in kube-system has the ranges.
const (
	systemNamespace = "kube-system"
	configName      = "kubevip"
)

// Migration takes over the allocations. It is a Runnable of the leader.
type Migration struct {
	Client client.Client
	// Live reads from the API server.
	Live      client.Reader
	Addresses *ipam.Allocator
	Recorder  events.EventRecorder

	done   chan struct{}
	writes patch.Repeats
}

// New returns a Migration.
func New(c client.Client, live client.Reader, addresses *ipam.Allocator, recorder events.EventRecorder) *Migration {
	return &Migration{Client: c, Live: live, Addresses: addresses, Recorder: recorder, done: make(chan struct{})}
}

// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=kubevip,verbs=get;list;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get;list;create
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Start runs the migration until it succeeds.
func (m *Migration) Start(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: time.Minute}
	for {
		err := m.Run(ctx)
		if err == nil {
			close(m.done)
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "Migrating addresses failed; no address is allocated before it succeeds")
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
			return nil
		}
	}
}

// Claim calls the Allocator once the migration has finished.
func (m *Migration) Claim(ctx context.Context, pool, id string) (ipam.Claimed, error) {
	select {
	case <-m.done:
		return m.Addresses.Claim(ctx, pool, id)
	case <-ctx.Done():
		return ipam.Claimed{}, fmt.Errorf("waiting for the migration of addresses: %w", ctx.Err())
	}
}

// Release calls the Allocator.
func (m *Migration) Release(ctx context.Context, pool, id string) error {
	return m.Addresses.Release(ctx, pool, id)
}

// Run takes over the allocations once. It is idempotent.
func (m *Migration) Run(ctx context.Context) error {
	if err := m.convert(ctx); err != nil {
		return fmt.Errorf("converting ConfigMap %s/%s: %w", systemNamespace, configName, err)
	}
	return m.takeOver(ctx)
}

// convert creates the pools of the ConfigMap, each with its holders in one request. The ConfigMap is marked last, so that a crash loses
// no pool.
func (m *Migration) convert(ctx context.Context) error {
	config, err := reconcile.Find(ctx, m.Live, client.ObjectKey{Namespace: systemNamespace, Name: configName}, &corev1.ConfigMap{})
	if err != nil || config == nil || config.Annotations[lbv1.ConvertedAnnotation] == "true" {
		return err
	}
	pools, complaints := Pools(config)
	given, more, err := m.given(ctx)
	if err != nil {
		return err
	}
	uses, err := m.uses(ctx)
	if err != nil {
		return err
	}
	Fill(pools, append(given, uses...), func(one Given) bool { return slices.Contains(uses, one) })
	for _, pool := range pools {
		complaint, err := m.make(ctx, pool)
		if err != nil {
			return err
		}
		complaints = append(complaints, complaint...)
	}
	for _, c := range append(complaints, more...) {
		m.Recorder.Eventf(config, nil, corev1.EventTypeWarning, "NotConverted", "Convert", "ConfigMap %s/%s, key %s: %s", c.Namespace, configName, c.Key, c.Text)
	}
	before := config.DeepCopy()
	metav1.SetMetaDataAnnotation(&config.ObjectMeta, lbv1.ConvertedAnnotation, "true")
	err = m.writes.Write(ctx, m.Client, before, config)
	if _, sent := patch.Sent(err); sent {
		m.Recorder.Eventf(config, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Convert",
			"%s; until then the ConfigMap is converted again at each start, which creates deleted IPPools again", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("marking it as converted: %w", err)
	}
	return nil
}

// make creates a pool, unless one of its name exists. A rejected pool is reported, because correcting the ConfigMap would have no effect.
func (m *Migration) make(ctx context.Context, pool *lbv1.IPPool) ([]Complaint, error) {
	err := m.Client.Create(ctx, pool)
	complain := func(text string) []Complaint { return []Complaint{{systemNamespace, "*-" + pool.Name, text}} }
	switch {
	case apierrors.IsAlreadyExists(err):
		existing, err := reconcile.Find(ctx, m.Live, client.ObjectKeyFromObject(pool), &lbv1.IPPool{})
		if err != nil || existing != nil && existing.Annotations[lbv1.ConvertedAnnotation] == "true" {
			return nil, err
		}
		complaints, err := m.enter(ctx, pool)
		return append(complain(fmt.Sprintf("IPPool %s existed before, and its ranges were not changed", pool.Name)), complaints...), err
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return complain(fmt.Sprintf("IPPool %s was rejected: %s; create it manually", pool.Name, err)), nil
	case err != nil:
		return nil, fmt.Errorf("creating IPPool %s: %w", pool.Name, err)
	}
	return nil, nil
}

// enter records the holders of addresses in a pool that existed before.
func (m *Migration) enter(ctx context.Context, pool *lbv1.IPPool) (complaints []Complaint, _ error) {
	for _, ip := range slices.Sorted(maps.Keys(pool.Status.Allocated)) {
		id := pool.Status.Allocated[ip]
		switch err := m.Addresses.Give(ctx, pool.Name, id, netip.MustParseAddr(ip)); {
		case errors.Is(err, allocation.ErrHeld), errors.Is(err, allocation.ErrOutside):
			complaints = append(complaints, Complaint{systemNamespace, "*-" + pool.Name, fmt.Sprintf("%s keeps %s, but the pool does not record it: %s", id, ip, err)})
		case isUnanswered(err):
			return nil, fmt.Errorf("recording holders of addresses: %w", err)
		case err != nil:
			complaints = append(complaints, Complaint{systemNamespace, "*-" + pool.Name, fmt.Sprintf("%s keeps %s, but the pool does not record it: %s: correct the pool", id, ip, err)})
		}
	}
	return complaints, nil
}

// given returns the addresses in the ConfigMaps of all namespaces.
func (m *Migration) given(ctx context.Context) (all []Given, complaints []Complaint, _ error) {
	configs := &corev1.ConfigMapList{}
	if err := m.Live.List(ctx, configs, client.MatchingFields{"metadata.name": configName}); err != nil {
		return nil, nil, fmt.Errorf("listing ConfigMaps: %w", err)
	}
	for i := range configs.Items {
		given, more := GivenIn(&configs.Items[i])
		all, complaints = append(all, given...), append(complaints, more...)
	}
	return all, complaints, nil
}

// uses returns the addresses of load balancers and of Services of type LoadBalancer.
func (m *Migration) uses(ctx context.Context) ([]Given, error) {
	services, balancers := &corev1.ServiceList{}, &lbv1.LoadBalancerList{}
	if err := m.Live.List(ctx, balancers); err != nil {
		return nil, fmt.Errorf("listing LoadBalancers: %w", err)
	}
	if err := m.Live.List(ctx, services); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	var uses []Given
	add := func(o client.Object, addresses ...string) {
		for _, address := range addresses {
			if addr, err := netip.ParseAddr(address); err == nil && !addr.IsUnspecified() {
				uses = append(uses, Given{addr.Unmap(), o.GetNamespace() + "/" + o.GetName()})
			}
		}
	}
	for i := range balancers.Items {
		lb := &balancers.Items[i]
		add(lb, lb.Status.AllocatedAddress.IP, lb.Status.Address)
	}
	for i := range services.Items {
		service := &services.Items[i]
		if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		add(service, service.Spec.LoadBalancerIP)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			add(service, ingress.IP)
		}
	}
	return uses, nil
}

// takeOver records in the pools the addresses that load balancers show: a manager that ended between two writes, or wrote one of them
// twice, leaves a load balancer with another address than its pool records. The address that it shows is the one in use.
func (m *Migration) takeOver(ctx context.Context) error {
	balancers := &lbv1.LoadBalancerList{}
	if err := m.Live.List(ctx, balancers); err != nil {
		return fmt.Errorf("listing LoadBalancers: %w", err)
	}
	pools := &lbv1.IPPoolList{}
	if err := m.Live.List(ctx, pools); err != nil {
		return fmt.Errorf("listing IPPools: %w", err)
	}
	holds, err := m.holders(ctx, pools.Items)
	if err != nil {
		return err
	}
	var errs []error
	for i := range balancers.Items {
		lb := &balancers.Items[i]
		has, of := lb.Status.AllocatedAddress, lb.Status.AllocatedAddress.IPPool
		if covering := ippools.Covering(pools.Items, has.IP); of == "" && covering != nil {
			of = covering.Name // it is from v1alpha1, which does not record the pool
		}
		if slices.Equal(holds[in{of, lb.Namespace + "/" + lb.Name}], []string{has.IP}) {
			continue
		}
		if err := m.keep(ctx, lb, poolOfName(pools.Items, of)); isUnanswered(err) {
			errs = append(errs, err)
		} else if err != nil { // do not block the others: the controller of the load balancer retries
			m.Recorder.Eventf(lb, nil, corev1.EventTypeWarning, "AddressNotTakenOver", "TakeOver",
				"%s: correct the named objects; the load balancer controller retries", err)
		}
	}
	return errors.Join(errs...)
}

// poolOfName returns the pool, or nil.
func poolOfName(pools []lbv1.IPPool, name string) *lbv1.IPPool {
	for i := range pools {
		if pools[i].Name == name {
			return &pools[i]
		}
	}
	return nil
}

// isUnanswered reports whether the API server was unavailable, rather than rejected the request.
func isUnanswered(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsUnauthorized(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}

// in is a holder in a pool.
type in struct{ pool, id string }

// holders returns the addresses of each holder according to its pool.
func (m *Migration) holders(ctx context.Context, pools []lbv1.IPPool) (map[in][]string, error) {
	blocks := &lbv1.IPPoolBlockList{}
	if err := m.Live.List(ctx, blocks); err != nil {
		return nil, fmt.Errorf("listing IPPoolBlocks: %w", err)
	}
	holds := map[in][]string{}
	note := func(pool string, allocated map[string]string) {
		for ip, id := range allocated {
			holds[in{pool, id}] = append(holds[in{pool, id}], ip)
		}
	}
	for i := range pools {
		note(pools[i].Name, pools[i].Status.Allocated)
	}
	for i := range blocks.Items {
		if allocation.IsCopy(&blocks.Items[i]) {
			continue
		}
		note(blocks.Items[i].Pool, blocks.Items[i].Allocated)
	}
	return holds, nil
}

// keep records a load balancer as holder of the address that it shows.
func (m *Migration) keep(ctx context.Context, lb *lbv1.LoadBalancer, pool *lbv1.IPPool) error {
	has := lb.Status.AllocatedAddress
	addr, err := netip.ParseAddr(strings.TrimSpace(has.IP))
	if err != nil || addr.IsUnspecified() || pool == nil || !lb.DeletionTimestamp.IsZero() {
		return nil //nolint:nilerr // it shows none that is of a pool
	}
	if entitled, err := m.Addresses.Entitles(ctx, pool, lb); err != nil || !entitled {
		return err // its controller reports it
	}
	err = m.Addresses.Give(ctx, pool.Name, lb.Namespace+"/"+lb.Name, addr.Unmap())
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case errors.Is(err, allocation.ErrHeld), errors.Is(err, allocation.ErrOutside):
		m.Recorder.Eventf(lb, nil, corev1.EventTypeWarning, "AddressNotKept", "TakeOver", "%s: recreate the load balancer to get another address", err)
		return nil
	}
	return fmt.Errorf("taking over the address of LoadBalancer %s/%s: %w", lb.Namespace, lb.Name, err)
}
