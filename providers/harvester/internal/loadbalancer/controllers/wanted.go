// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// mostEndpoints is the maximum number of endpoints of an EndpointSlice.
const mostEndpoints = 1000

// belongs reports whether a Service or an EndpointSlice with the load balancer's name belongs to it: the load balancer owns it, or it has
// the label of a load balancer and no owner, because it was created before the load balancer.
func belongs(lb *lbv1.LoadBalancer, o client.Object) bool {
	owners := o.GetOwnerReferences()
	if slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return ref.UID == lb.UID }) {
		return true
	}
	return len(owners) == 0 && o.GetLabels()[lbv1.ServiceLabel] == "true"
}

// mark labels an object as a load balancer's and adds the owner reference.
func mark(lb *lbv1.LoadBalancer, o client.Object) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[lbv1.ServiceLabel] = "true"
	o.SetLabels(labels)
	owners := o.GetOwnerReferences()
	if !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return ref.UID == lb.UID }) {
		o.SetOwnerReferences(append(owners, metav1.OwnerReference{
			APIVersion: lbv1.GroupVersion.String(), Kind: "LoadBalancer", Name: lb.Name, UID: lb.UID,
		}))
	}
}

// shapeService sets the fields of a new or existing Service and keeps what other clients have added.
func shapeService(lb *lbv1.LoadBalancer, service *corev1.Service) {
	service.Namespace, service.Name = lb.Namespace, lb.Name
	mark(lb, service)
	address := lb.Status.AllocatedAddress.IP
	spec := &service.Spec
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		spec.Type = corev1.ServiceTypeLoadBalancer
	}
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is6() && spec.ClusterIP == "" {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	}
	spec.Selector = nil // with a selector, Kubernetes would create EndpointSlices of Pods
	spec.LoadBalancerIP = address
	spec.Ports = servicePorts(lb.Spec.Listeners, spec.Ports)
}

// servicePorts returns the ports of the listeners. Other fields of an existing port, such as its node port, are kept.
func servicePorts(listeners []lbv1.Listener, before []corev1.ServicePort) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, 0, len(listeners))
	for _, l := range listeners {
		protocol := cmp.Or(l.Protocol, corev1.ProtocolTCP)
		port := corev1.ServicePort{}
		if at := slices.IndexFunc(before, func(p corev1.ServicePort) bool { return p.Port == l.Port && p.Protocol == protocol }); at >= 0 {
			port = before[at]
		}
		port.Name, port.Protocol, port.Port, port.TargetPort = l.Name, protocol, l.Port, intstr.FromInt32(l.BackendPort)
		ports = append(ports, port)
	}
	return ports
}

// family returns the address family of the load balancer's traffic.
func family(lb *lbv1.LoadBalancer, service *corev1.Service) discoveryv1.AddressType {
	if service != nil && len(service.Spec.IPFamilies) > 0 {
		return discoveryv1.AddressType(service.Spec.IPFamilies[0])
	}
	if address, err := netip.ParseAddr(lb.Status.AllocatedAddress.IP); err == nil && address.Is6() {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// endpoints returns the endpoints of a load balancer in one family. Healthy ones are ready.
func endpoints(lb *lbv1.LoadBalancer, backends []backend, family discoveryv1.AddressType, healthy func(netip.Addr) bool) []discoveryv1.Endpoint {
	var all []discoveryv1.Endpoint
	for _, b := range backends {
		address := b.address(family)
		if !address.IsValid() {
			continue
		}
		all = append(all, discoveryv1.Endpoint{
			Addresses: []string{address.String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(healthy(address))},
			TargetRef: &corev1.ObjectReference{Namespace: lb.Namespace, Name: b.name, UID: b.uid},
		})
	}
	return all
}

// isReady reports whether an endpoint is a machine that receives traffic.
func isReady(e discoveryv1.Endpoint) bool {
	return !isPlaceholder(e) && ptr.Deref(e.Conditions.Ready, false)
}

func isPlaceholder(e discoveryv1.Endpoint) bool {
	return e.TargetRef != nil && e.TargetRef.UID == lbv1.PlaceholderUID
}

// placeholder returns the endpoint of a load balancer without healthy machines. Without an endpoint, kube-vip would not announce the
// address, and the host would process the traffic itself.
func placeholder(lb *lbv1.LoadBalancer, family discoveryv1.AddressType) discoveryv1.Endpoint {
	address := lbv1.PlaceholderAddress
	if family == discoveryv1.AddressTypeIPv6 {
		address = lbv1.PlaceholderIPv6Address
	}
	return discoveryv1.Endpoint{
		Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		TargetRef: &corev1.ObjectReference{Namespace: lb.Namespace, Name: lb.Name, UID: lbv1.PlaceholderUID},
	}
}

// wantedSlices returns the desired EndpointSlices of a load balancer by name. There is always one of the family of its traffic, and one
// of the other family if machines have addresses of it. The first one of IPv4 has the load balancer's name.
func wantedSlices(
	lb *lbv1.LoadBalancer, main discoveryv1.AddressType, backends []backend, healthy func(netip.Addr) bool,
) map[string]*discoveryv1.EndpointSlice {
	wanted := map[string]*discoveryv1.EndpointSlice{}
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		all := endpoints(lb, backends, family, healthy)
		if family == main && !slices.ContainsFunc(all, isReady) {
			all = append(all, placeholder(lb, family))
		}
		number := 1
		for part := range slices.Chunk(all, mostEndpoints) {
			slice := &discoveryv1.EndpointSlice{AddressType: family, Endpoints: part}
			slice.Namespace, slice.Name = lb.Namespace, sliceName(lb, family, number)
			shapeSlice(lb, slice)
			wanted[slice.Name] = slice
			number++
		}
	}
	return wanted
}

func sliceName(lb *lbv1.LoadBalancer, family discoveryv1.AddressType, number int) string {
	name := lb.Name
	if family == discoveryv1.AddressTypeIPv6 {
		name += "-ipv6"
	}
	if number > 1 {
		name += fmt.Sprintf("-%d", number)
	}
	return name
}

// shapeSlice sets the fields that all EndpointSlices of a load balancer share.
func shapeSlice(lb *lbv1.LoadBalancer, slice *discoveryv1.EndpointSlice) {
	mark(lb, slice)
	slice.Labels[discoveryv1.LabelServiceName] = lb.Name
	slice.Ports = nil
	for _, l := range lb.Spec.Listeners {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: ptr.To(l.Name), Protocol: ptr.To(cmp.Or(l.Protocol, corev1.ProtocolTCP)), Port: ptr.To(l.BackendPort),
		})
	}
}
