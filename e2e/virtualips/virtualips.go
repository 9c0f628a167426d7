// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualips serves the load balancers of a simulated Harvester. It adds the address of each Service to a network card of this
// machine, as kube-vip does on a host, and forwards connections to the Service's endpoints.
package virtualips

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retry is the interval between attempts.
const retry = time.Second

// Announcer serves the addresses of Services of type LoadBalancer.
type Announcer struct {
	client client.WithWatch
	card   Card
	fronts map[frontend]*listener
	// connections tracks the open connections.
	connections sync.WaitGroup
}

// frontend is the address of a port of a Service.
type frontend struct {
	address netip.Addr
	port    int32
	service client.ObjectKey
}

// NewAnnouncer returns an Announcer for a Harvester.
func NewAnnouncer(harvester client.WithWatch, card Card) *Announcer {
	return &Announcer{client: harvester, card: card, fronts: map[frontend]*listener{}}
}

// Run serves addresses until ctx ends.
func (a *Announcer) Run(ctx context.Context) {
	defer a.releaseAll(ctx)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := a.follow(ctx); err != nil && ctx.Err() == nil {
			ctrl.Log.Error(err, "Failed to announce the addresses of load balancers")
		}
	}, retry)
}

func (a *Announcer) releaseAll(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for at := range a.fronts {
		if err := a.close(ctx, at); err != nil {
			ctrl.Log.Error(err, "Failed to release an address")
		}
	}
	a.connections.Wait()
}

// follow updates the announced addresses whenever a Service changes, until the watch ends.
func (a *Announcer) follow(ctx context.Context) error {
	services := &corev1.ServiceList{}
	watch, err := a.client.Watch(ctx, services)
	if err != nil {
		return fmt.Errorf("watching Services: %w", err)
	}
	defer watch.Stop()
	for {
		if err := a.client.List(ctx, services); err != nil {
			return fmt.Errorf("listing Services: %w", err)
		}
		if err := a.announce(ctx, frontendsOf(services.Items)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-watch.ResultChan():
			if !open {
				return nil
			}
		}
	}
}

// frontendsOf returns the addresses of all Services that have one.
func frontendsOf(services []corev1.Service) map[frontend]bool {
	wanted := map[frontend]bool{}
	for i := range services {
		service := &services[i]
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			address, err := netip.ParseAddr(ingress.IP)
			if err != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
				continue
			}
			for _, port := range service.Spec.Ports {
				if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
					wanted[frontend{address, port.Port, client.ObjectKeyFromObject(service)}] = true
				}
			}
		}
	}
	return wanted
}

// announce removes old addresses before it adds new ones, because an address may have moved from one Service to another.
func (a *Announcer) announce(ctx context.Context, wanted map[frontend]bool) error {
	var errs []error
	for _, at := range slices.Collect(maps.Keys(a.fronts)) {
		if !wanted[at] {
			errs = append(errs, a.close(ctx, at))
		}
	}
	for at := range wanted {
		if a.fronts[at] == nil {
			errs = append(errs, a.open(ctx, at))
		}
	}
	return errors.Join(errs...)
}

func (a *Announcer) open(ctx context.Context, at frontend) error {
	if err := a.card.take(ctx, at.address); err != nil {
		return fmt.Errorf("adding address %s: %w", at.address, err)
	}
	found, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(at.address, uint16(at.port)).String()) //nolint:gosec // Ports fit into uint16.
	if err != nil {
		return fmt.Errorf("listening for Service %s: %w", at.service, err)
	}
	l := &listener{Listener: found, backends: func(ctx context.Context) ([]string, error) { return a.backends(ctx, at) }}
	a.fronts[at] = l
	a.connections.Go(func() { l.serve(ctx) })
	return nil
}

// close stops serving a port. It drops the address with its last port.
func (a *Announcer) close(ctx context.Context, at frontend) error {
	err := a.fronts[at].Close()
	delete(a.fronts, at)
	for other := range a.fronts {
		if other.address == at.address {
			return err
		}
	}
	return errors.Join(err, a.card.drop(ctx, at.address))
}

// backends returns the ready endpoints for a port of the Service in random order.
func (a *Announcer) backends(ctx context.Context, at frontend) ([]string, error) {
	service, slicesOf := &corev1.Service{}, &discoveryv1.EndpointSliceList{}
	if err := a.client.Get(ctx, at.service, service); err != nil {
		return nil, fmt.Errorf("reading Service %s: %w", at.service, err)
	}
	err := a.client.List(ctx, slicesOf, client.InNamespace(at.service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: at.service.Name})
	if err != nil {
		return nil, fmt.Errorf("listing endpoints of Service %s: %w", at.service, err)
	}
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == at.port })
	if i < 0 {
		return nil, nil
	}
	return backendsOf(slicesOf.Items, service.Spec.Ports[i].Name), nil
}

func backendsOf(all []discoveryv1.EndpointSlice, name string) []string {
	found := map[string]bool{} // in random order
	for i := range all {
		for _, port := range all[i].Ports {
			if port.Port == nil || port.Name != nil && *port.Name != name {
				continue
			}
			for _, endpoint := range all[i].Endpoints {
				for _, address := range endpoint.Addresses {
					if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
						found[net.JoinHostPort(address, strconv.Itoa(int(*port.Port)))] = true
					}
				}
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}
