// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	vipPrefix     = "kube-vip.io/"
	vipAnnotation = vipPrefix + "loadbalancerIPs"
	vipHost       = vipPrefix + "vipHost"
	vipEager      = vipPrefix + "allow-reconcile-without-endpoints"
	// vipNetwork is the network of the hosts, whose DHCP server provides addresses to kube-vip.
	vipNetwork = "hosts"
)

// AddKubeVIP adds the controller of kube-vip. eager selects the behavior before version 1.2, which does not wait for endpoints.
func AddKubeVIP(set *controllers.Set, leases *Leases, eager bool) error {
	return set.Controller("kube-vip").For(&corev1.Service{}).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(serviceOf)).
		WatchesRawSource(set.EnqueueOnFaultChange(&corev1.ServiceList{})).
		Complete(&vips{client: set.Client(), leases: leases, eager: eager, faults: set.Faults()})
}

func serviceOf(_ context.Context, endpoints client.Object) []reconcile.Request {
	name := endpoints.GetLabels()[discoveryv1.LabelServiceName]
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: endpoints.GetNamespace(), Name: name}}}
}

// vips simulates kube-vip, which announces the addresses of Services.
type vips struct {
	client client.Client
	leases *Leases
	// eager selects the behavior of kube-vip before 1.2, which does not wait for endpoints.
	eager  bool
	faults *controllers.FaultTable
}

// Reconcile announces the address of a Service. A Service that has one keeps it.
func (r *vips) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	service := &corev1.Service{}
	if err := r.client.Get(ctx, req.NamespacedName, service); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil || r.faults.Has(controllers.NoAddresses, service) {
		return ctrl.Result{}, nil
	}
	address := r.address(service)
	if ingress := service.Status.LoadBalancer.Ingress; address == "" || len(ingress) > 0 && ingress[0].IP == address {
		return ctrl.Result{}, nil
	}
	if ok, err := r.handles(ctx, service); err != nil || !ok {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.announce(ctx, service, address)
}

// announce lets a healthy host announce the address; without one it does nothing.
func (r *vips) announce(ctx context.Context, service *corev1.Service, address string) error {
	host, err := r.host(ctx)
	if err != nil || host == "" {
		return err
	}
	before := service.DeepCopy()
	metav1.SetMetaDataAnnotation(&service.ObjectMeta, vipHost, host)
	if err := r.client.Patch(ctx, service, client.MergeFrom(before)); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("annotating Service: %w", err)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	if err := r.client.Status().Update(ctx, service); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("updating Service: %w", err)
	}
	return nil
}

// address returns the address requested by the Service: in its annotation, else in its spec. An unspecified address is replaced
// by one from the DHCP server.
func (r *vips) address(service *corev1.Service) string {
	wanted, _, _ := strings.Cut(service.Annotations[vipAnnotation], ",")
	if wanted == "" {
		wanted = service.Spec.LoadBalancerIP
	}
	if wanted == lbv1.UnspecifiedAddress {
		return r.leases.Lease(vipNetwork, string(service.UID)).String()
	}
	return wanted
}

// handles reports whether kube-vip handles the Service.
func (r *vips) handles(ctx context.Context, service *corev1.Service) (bool, error) {
	local := service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	if r.eager || service.Annotations[vipEager] == "true" && !local {
		return true, nil
	}
	endpoints := &discoveryv1.EndpointSliceList{}
	err := r.client.List(ctx, endpoints, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil {
		return false, fmt.Errorf("listing endpoints: %w", err)
	}
	return slices.ContainsFunc(endpoints.Items, func(slice discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
			return len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready)
		})
	}), nil
}

// host returns a healthy host, which announces the address.
func (r *vips) host(ctx context.Context) (string, error) {
	all := &corev1.NodeList{}
	if err := r.client.List(ctx, all); err != nil {
		return "", fmt.Errorf("listing hosts: %w", err)
	}
	for i := range all.Items {
		if HostReady(&all.Items[i]) {
			return all.Items[i].Name, nil
		}
	}
	return "", nil
}
