// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// serve reconciles the EndpointSlices and the Service of a load balancer with an address, in this order: kube-vip announces no Service
// without endpoints. It returns the Service, and why the load balancer is not reachable.
func (s *scope) serve(ctx context.Context) (*corev1.Service, problem, error) {
	service, err := reconcile.Find(ctx, s.Client, s.key(), &corev1.Service{})
	if err != nil {
		return nil, problem{}, err
	}
	if service != nil && !belongs(s.lb, service) {
		return nil, foreign("Service", service), s.deleteSlices(ctx)
	}
	backends, err := s.backends(ctx)
	if err != nil {
		return nil, problem{}, err
	}
	slices, err := s.slices(ctx)
	if err != nil {
		return nil, problem{}, err
	}
	check, checked := health.Of(s.lb.Spec.HealthCheck)
	healthy := s.check(check, checked, backends, slices)
	answers := func(address netip.Addr) bool { return !checked || healthy[address] }
	main := family(s.lb, service)
	why, err := s.writeSlices(ctx, slices, wantedSlices(s.lb, main, backends, answers))
	if err == nil && why == (problem{}) {
		service, why, err = s.writeService(ctx, service)
	}
	if err != nil || why != (problem{}) {
		return nil, why, err
	}
	s.lb.Status.Address = announcedBy(service)
	s.lb.Status.BackendServers = addresses(backends)
	return service, problemOf(s.lb, service, backends, endpoints(s.lb, backends, main, answers)), nil
}

// addresses returns the addresses of the machines for the status: one per machine, preferably IPv4, as the status has always had.
func addresses(backends []backend) []string {
	var all []string
	for _, b := range backends {
		switch {
		case b.ipv4.IsValid():
			all = append(all, b.ipv4.String())
		case b.ipv6.IsValid():
			all = append(all, b.ipv6.String())
		}
	}
	return all
}

func foreign(kind string, o client.Object) problem {
	return problem{reasonForeign, fmt.Sprintf("%s %s/%s was not created for this load balancer: delete it, and the controller creates its own",
		kind, o.GetNamespace(), o.GetName())}
}

// backends returns the machines behind the load balancer. It looks them up by one label of the selector and filters by the others.
func (s *scope) backends(ctx context.Context) ([]backend, error) {
	var found []*kubevirtv1.VirtualMachineInstance
	for _, term := range terms(s.lb.Spec.BackendServerSelector) {
		list := &kubevirtv1.VirtualMachineInstanceList{}
		err := s.Client.List(ctx, list, client.InNamespace(s.lb.Namespace), client.MatchingFields{labelField: term}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("listing virtual machines: %w", err)
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
	}
	return backendsOf(s.lb, found), nil
}

// slices returns the EndpointSlices of the Service with the load balancer's name, by name.
func (s *scope) slices(ctx context.Context) (map[string]*discoveryv1.EndpointSlice, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.lb.Namespace), client.MatchingFields{serviceField: s.lb.Name}); err != nil {
		return nil, fmt.Errorf("listing EndpointSlices: %w", err)
	}
	all := map[string]*discoveryv1.EndpointSlice{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all, nil
}

// check updates the health checks of the machines and returns which machines are healthy. A machine that is ready in the EndpointSlices
// counts as healthy until its checks fail.
func (s *scope) check(
	check health.Check, checked bool, backends []backend, before map[string]*discoveryv1.EndpointSlice,
) map[netip.Addr]bool {
	if !checked {
		s.Health.Remove(s.key())
		return nil
	}
	was := map[string]types.UID{}
	for _, slice := range before {
		for _, e := range slice.Endpoints {
			if isReady(e) && e.TargetRef != nil && len(e.Addresses) > 0 {
				was[e.Addresses[0]] = e.TargetRef.UID
			}
		}
	}
	machines := map[netip.Addr]health.Machine{}
	for _, b := range backends {
		for _, address := range []netip.Addr{b.ipv4, b.ipv6} {
			if address.IsValid() {
				machines[address] = health.Machine{ID: b.uid, Healthy: was[address.String()] == b.uid}
			}
		}
	}
	return s.Health.Set(s.key(), check, machines)
}

// writeSlices creates, updates and deletes the EndpointSlices. It keeps those that other clients have created for the Service.
func (s *scope) writeSlices(ctx context.Context, before, wanted map[string]*discoveryv1.EndpointSlice) (problem, error) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if why, err := s.writeSlice(ctx, before[name], wanted[name]); err != nil || why != (problem{}) {
			return why, err
		}
	}
	for name, slice := range before {
		if wanted[name] == nil && belongs(s.lb, slice) {
			if err := s.Client.Delete(ctx, slice); client.IgnoreNotFound(err) != nil {
				return problem{}, fmt.Errorf("deleting EndpointSlice %s: %w", name, err)
			}
		}
	}
	return problem{}, nil
}

func (s *scope) writeSlice(ctx context.Context, slice, wanted *discoveryv1.EndpointSlice) (problem, error) {
	if slice == nil {
		err := s.Client.Create(ctx, wanted)
		if !apierrors.IsAlreadyExists(err) {
			return s.refused(err, "EndpointSlice "+wanted.Name)
		}
		slice = &discoveryv1.EndpointSlice{} // not in the cache yet, or for another Service
		if err := s.Live.Get(ctx, client.ObjectKeyFromObject(wanted), slice); err != nil {
			return problem{}, fmt.Errorf("reading EndpointSlice: %w", err)
		}
	}
	if !belongs(s.lb, slice) {
		return foreign("EndpointSlice", slice), nil
	}
	before := slice.DeepCopy()
	shapeSlice(s.lb, slice)
	slice.Endpoints = wanted.Endpoints
	if slice.AddressType != wanted.AddressType { // it is immutable; the deletion event enqueues the load balancer
		return problem{reasonWaiting, waitingForAddress}, client.IgnoreNotFound(s.Client.Delete(ctx, slice))
	}
	if equality.Semantic.DeepEqual(before, slice) {
		return problem{}, nil
	}
	return s.refused(s.patch(ctx, before, slice), "EndpointSlice "+slice.Name)
}

// writeService creates or updates the Service and returns it.
func (s *scope) writeService(ctx context.Context, service *corev1.Service) (*corev1.Service, problem, error) {
	if service == nil {
		made := &corev1.Service{}
		shapeService(s.lb, made)
		err := s.Client.Create(ctx, made)
		if !apierrors.IsAlreadyExists(err) {
			why, err := s.refused(err, "Service "+made.Name)
			return made, why, err
		}
		service = &corev1.Service{}
		if err := s.Live.Get(ctx, s.key(), service); err != nil {
			return nil, problem{}, fmt.Errorf("reading Service: %w", err)
		}
		if !belongs(s.lb, service) {
			return nil, foreign("Service", service), s.deleteSlices(ctx)
		}
	}
	before := service.DeepCopy()
	shapeService(s.lb, service)
	if !service.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before, service) {
		return service, problem{}, nil
	}
	why, err := s.refused(s.patch(ctx, before, service), "Service "+service.Name)
	return service, why, err
}

// patch writes an existing Service or EndpointSlice. If the API server does not store its label or owner, or another client removes them,
// patch records an event and backs off, but writes everything else: machines get and lose traffic without delay.
func (s *scope) patch(ctx context.Context, before, after client.Object) error {
	known := s.written.Repeats.Undone(s.Client, before)
	err := s.written.Repeats.Write(ctx, s.Client, before, after)
	var removed *patch.RemovedError
	if !errors.As(err, &removed) {
		return err
	}
	if removed.Reportable && (known == nil || known.Error() != removed.Error()) {
		s.Recorder.Eventf(s.lb, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Reconcile", "%s", removed)
	}
	s.again = reconcile.Earlier(s.again, removed.Again())
	if !removed.Paused {
		return nil
	}
	after.SetLabels(before.GetLabels())
	after.SetOwnerReferences(before.GetOwnerReferences())
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return s.written.Repeats.Write(ctx, s.Client, before, after)
}

// refused converts the error of a write. An invalid object results from the load balancer, and only the user can correct that.
func (s *scope) refused(err error, what string) (problem, error) {
	if apierrors.IsInvalid(err) {
		return problem{reasonRefused, fmt.Sprintf("the API server rejects %s: %s: correct the load balancer", what, err)}, nil
	}
	if err != nil {
		return problem{}, fmt.Errorf("writing %s: %w", what, err)
	}
	return problem{}, nil
}

// deleteSlices deletes the load balancer's EndpointSlices, because they would be used by another Service.
func (s *scope) deleteSlices(ctx context.Context) error {
	s.Health.Remove(s.key())
	s.lb.Status.Address, s.lb.Status.BackendServers = "", nil
	before, err := s.slices(ctx)
	if err != nil {
		return err
	}
	_, err = s.writeSlices(ctx, before, nil)
	return err
}
