// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// primaryOf returns the Service whose address a Service shares, or the zero value.
func primaryOf(service *corev1.Service) (types.NamespacedName, error) {
	text := service.Annotations[primaryAnnotation]
	if text == "" {
		return types.NamespacedName{}, nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("annotation %s is %q: it must be the namespace/name of a Service", primaryAnnotation, text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// share returns the addresses that a Service shares with its primary one, which may be nil; sharing are the other Services that share
// them. A Service that has the addresses keeps them even if the primary one is deleted.
func share(service, primary *corev1.Service, sharing []*corev1.Service) ([]string, error) {
	has := split(service.Annotations[lbv1.AddressesAnnotation])
	switch {
	case primary == nil || !wantsBalancer(primary):
		return nil, fmt.Errorf("Service %s of annotation %s does not exist, or is not a Service with a load balancer on Harvester",
			service.Annotations[primaryAnnotation], primaryAnnotation)
	case primary.UID == service.UID || primary.Annotations[primaryAnnotation] != "":
		return nil, fmt.Errorf("Service %s/%s of annotation %s has no address of its own: name the Service whose address it shares", primary.Namespace, primary.Name, primaryAnnotation)
	case primary.DeletionTimestamp != nil && !sharesAlready(service, primary):
		return nil, fmt.Errorf("Service %s/%s of annotation %s is being deleted", primary.Namespace, primary.Name, primaryAnnotation)
	}
	if asked, of := service.Annotations[networkAnnotation], primary.Annotations[networkAnnotation]; asked != "" && asked != of {
		return nil, fmt.Errorf("annotation %s is %q, but Service %s/%s has its address in network %q", networkAnnotation, asked, primary.Namespace, primary.Name, of)
	}
	if err := overlap(service, append([]*corev1.Service{primary}, sharing...)); err != nil {
		return nil, err
	}
	if primary.DeletionTimestamp != nil {
		return has, nil
	}
	return inFamilies(addressesOf(primary), service)
}

// inFamilies returns the addresses in the families of the Service.
func inFamilies(addresses []string, service *corev1.Service) ([]string, error) {
	var list []string
	for _, text := range addresses {
		addr, err := netip.ParseAddr(text)
		if err == nil && (len(service.Spec.IPFamilies) == 0 || slices.Contains(service.Spec.IPFamilies, familyOf(addr))) {
			list = append(list, text)
		}
	}
	if len(addresses) > 0 && len(list) == 0 {
		return nil, fmt.Errorf("the address %s is not of an IP family of the Service", joined(addresses))
	}
	return list, nil
}

// sharesAlready reports whether a Service already has the address of the primary one.
func sharesAlready(service, primary *corev1.Service) bool {
	has := service.Annotations[lbv1.AddressesAnnotation]
	of, err := inFamilies(addressesOf(primary), service)
	return err == nil && has != "" && has == joined(of)
}

// addressesOf returns the addresses of a primary Service, or none while a DHCP server has not assigned them.
func addressesOf(primary *corev1.Service) []string {
	given := split(primary.Annotations[lbv1.AddressesAnnotation])
	if !slices.ContainsFunc(given, unspecified) {
		return given
	}
	var list []string
	for _, ingress := range primary.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			list = append(list, ingress.IP)
		}
	}
	return list
}

func unspecified(address string) bool { return address == lbv1.UnspecifiedAddress || address == "::" }

// overlap returns an error if an earlier Service has the same port: the primary one, one that has the address already, or an older one.
func overlap(service *corev1.Service, others []*corev1.Service) error {
	for n, other := range others {
		if other.UID == service.UID || n > 0 && !before(other, service) {
			continue
		}
		for _, port := range service.Spec.Ports {
			for _, taken := range other.Spec.Ports {
				if port.Port == taken.Port && protocol(port) == protocol(taken) {
					return fmt.Errorf("port %d/%s is already used by Service %s/%s, which has the same address: choose another port", port.Port, protocol(port),
						other.Namespace, other.Name)
				}
			}
		}
	}
	return nil
}

// protocol returns the protocol of a port: TCP and UDP ports may have the same number.
func protocol(port corev1.ServicePort) corev1.Protocol {
	return cmp.Or(port.Protocol, corev1.ProtocolTCP)
}

// before reports whether a precedes b at their shared address. It is a total order, so one of two concurrent Services is rejected.
func before(a, b *corev1.Service) bool {
	if hasA, hasB := a.Annotations[lbv1.AddressesAnnotation] != "", b.Annotations[lbv1.AddressesAnnotation] != ""; hasA != hasB {
		return hasA
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

// wantsBalancer reports whether a Service needs a load balancer of Harvester.
func wantsBalancer(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil
}
