// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

const (
	serviceLabel = lbPrefix + "servicelb"
	// dummyAddress is the endpoint of a load balancer without virtual machines.
	dummyAddress = "10.52.0.255"
	dummyUID     = "dummy347-546a-4642-9da6-5608endpoint"
)

// service creates the load balancer's Service, or uses an existing one with its name, and returns the Service's address, or "".
func (r *balancers) service(ctx context.Context, lb *lbv1.LoadBalancer) (string, error) {
	service := &corev1.Service{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(lb), service)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Service: %w", err)
	}
	before := service.DeepCopy()
	metav1.SetMetaDataLabel(&service.ObjectMeta, serviceLabel, "true")
	service.Spec.Type, service.Spec.Selector = corev1.ServiceTypeLoadBalancer, nil
	service.Spec.LoadBalancerIP = lb.Status.AllocatedAddress.IP
	service.Spec.Ports = portsOf(lb, service.Spec.Ports)
	switch {
	case err != nil:
		service.Namespace, service.Name = lb.Namespace, lb.Name
		if err := controllerutil.SetOwnerReference(lb, service, r.client.Scheme()); err != nil {
			return "", fmt.Errorf("setting the owner of Service: %w", err)
		}
		if err := r.client.Create(ctx, service); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("creating Service: %w", err)
		}
	case !apiequality.Semantic.DeepEqual(before, service):
		if err := r.client.Update(ctx, service); err != nil {
			return "", fmt.Errorf("updating Service: %w", err)
		}
	}
	if ingress := service.Status.LoadBalancer.Ingress; len(ingress) > 0 {
		return ingress[0].IP, nil
	}
	return "", nil
}

// portsOf returns the ports of the listeners. Fields that the API server has added to existing ports are kept.
func portsOf(lb *lbv1.LoadBalancer, before []corev1.ServicePort) []corev1.ServicePort {
	var out []corev1.ServicePort
	for _, listener := range lb.Spec.Listeners {
		port := corev1.ServicePort{}
		if i := slices.IndexFunc(before, func(p corev1.ServicePort) bool { return p.Name == listener.Name }); i >= 0 {
			port = before[i]
		}
		port.Name, port.Port, port.Protocol = listener.Name, listener.Port, listener.Protocol
		port.TargetPort = intstr.FromInt32(listener.BackendPort)
		out = append(out, port)
	}
	return out
}

// reconcileEndpoints sets the endpoints to the virtual machines that the load balancer selects and that have an address.
func (r *balancers) reconcileEndpoints(ctx context.Context, lb *lbv1.LoadBalancer) error {
	instances := &kubevirtv1.VirtualMachineInstanceList{}
	if err := r.client.List(ctx, instances, client.InNamespace(lb.Namespace)); err != nil {
		return fmt.Errorf("listing virtual machines: %w", err)
	}
	var endpoints []discoveryv1.Endpoint
	ready := false
	lb.Status.BackendServers = nil
	for i := range instances.Items {
		vmi := &instances.Items[i]
		address := addressOf(vmi)
		if !selects(lb, vmi) || address == "" {
			continue
		}
		answers := controllers.ConditionOf(vmi, kubevirtv1.VirtualMachineInstanceReady)
		up := answers != nil && answers.Status == corev1.ConditionTrue
		ready = ready || up
		lb.Status.BackendServers = append(lb.Status.BackendServers, address)
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(up)},
			TargetRef: &corev1.ObjectReference{Namespace: vmi.Namespace, Name: vmi.Name, UID: vmi.UID},
		})
	}
	if !ready {
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses: []string{dummyAddress}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			TargetRef: &corev1.ObjectReference{UID: dummyUID},
		})
	}
	if err := r.slice(ctx, lb, endpoints); err != nil {
		return err
	}
	if !ready {
		return errNoBackends
	}
	return nil
}

func (r *balancers) slice(ctx context.Context, lb *lbv1.LoadBalancer, endpoints []discoveryv1.Endpoint) error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: lb.Namespace, Name: lb.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, slice, func() error {
		slice.AddressType, slice.Endpoints = discoveryv1.AddressTypeIPv4, endpoints
		metav1.SetMetaDataLabel(&slice.ObjectMeta, serviceLabel, "true")
		metav1.SetMetaDataLabel(&slice.ObjectMeta, discoveryv1.LabelServiceName, lb.Name)
		slice.Ports = nil
		for _, listener := range lb.Spec.Listeners {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
				Name: ptr.To(listener.Name), Port: ptr.To(listener.BackendPort), Protocol: ptr.To(listener.Protocol),
			})
		}
		return controllerutil.SetOwnerReference(lb, slice, r.client.Scheme())
	})
	if err != nil {
		return fmt.Errorf("writing EndpointSlice: %w", err)
	}
	return nil
}

// selects reports whether each label of the selector has one of the given values.
func selects(lb *lbv1.LoadBalancer, vmi *kubevirtv1.VirtualMachineInstance) bool {
	for key, values := range lb.Spec.BackendServerSelector {
		if value, ok := vmi.Labels[key]; !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return len(lb.Spec.BackendServerSelector) > 0
}

// addressOf returns the first IPv4 address of an instance.
func addressOf(vmi *kubevirtv1.VirtualMachineInstance) string {
	for _, nic := range vmi.Status.Interfaces {
		for _, text := range nic.IPs {
			if address, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil && address.Is4() {
				return text
			}
		}
	}
	return ""
}
