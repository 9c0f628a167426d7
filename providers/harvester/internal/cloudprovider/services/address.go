// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// sharingIndex indexes Services by the Service whose address they share.
const sharingIndex = "primary-service"

func bySharing(o any) ([]string, error) {
	service, ok := o.(*corev1.Service)
	if !ok || !wantsBalancer(service) {
		return nil, nil
	}
	primary, err := primaryOf(service)
	if err != nil || primary.Name == "" {
		return nil, nil //nolint:nilerr // a Service without a valid annotation shares nothing
	}
	return []string{primary.String()}, nil
}

// sharing returns the Services that share the address of the primary Service.
func (s *Services) sharing(primary types.NamespacedName) []*corev1.Service {
	found, err := s.known.ByIndex(sharingIndex, primary.String())
	if err != nil {
		return nil // cannot happen: the index exists
	}
	var list []*corev1.Service
	for _, o := range found {
		if service, ok := o.(*corev1.Service); ok {
			list = append(list, service)
		}
	}
	return list
}

func keyOf(service *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
}

// service returns the Service, or nil.
func (s *Services) service(key types.NamespacedName) (*corev1.Service, error) {
	o, there, err := s.known.GetByKey(key.String())
	if err != nil || !there {
		return nil, err
	}
	service, ok := o.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("%T is not a Service", o)
	}
	return service, nil
}

// ensureShared sets the addresses of another Service on a Service, and releases its own.
func (s *Services) ensureShared(ctx context.Context, service *corev1.Service, primary types.NamespacedName) error {
	own := keyOf(service)
	if sharing := s.sharing(own); len(sharing) > 0 {
		return fmt.Errorf("Service %s/%s shares the address of this Service, so this Service cannot share that of %s", sharing[0].Namespace, sharing[0].Name, primary)
	}
	of, err := s.service(primary)
	if err != nil {
		return err
	}
	addresses, err := share(service, of, s.sharing(primary))
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return &waitError{what: fmt.Sprintf("Service %s has no address yet", primary)}
	}
	nic, err := s.nic(ctx, of)
	if err != nil {
		return err
	}
	if err := s.writeAddresses(ctx, service, given{addresses: addresses, shares: primary.Namespace + "." + primary.Name, nic: nic}); err != nil {
		return err
	}
	return s.deleteUnused(ctx, own, service, s.options.neededParts)
}

// given is what a Service receives.
type given struct {
	addresses []string
	// shares is the label of a Service that shares the addresses of another.
	shares string
	// nic is the interface of the Nodes on which the addresses are announced; "" for kube-vip's default.
	nic string
}

// nic returns the interface of the Nodes in the network that a Service requests. While the Nodes have not reported it, it returns the
// current one.
func (s *Services) nic(ctx context.Context, service *corev1.Service) (string, error) {
	network := service.Annotations[networkAnnotation]
	if network == "" {
		return "", nil
	}
	nic, err := s.nics(ctx, network)
	return cmp.Or(nic, service.Annotations[givenNICAnnotation]), err
}

// writeAddresses writes the addresses of a Service. An empty given removes them.
func (s *Services) writeAddresses(ctx context.Context, service *corev1.Service, g given) error {
	change := changeOf(service, g)
	if change == nil {
		return nil
	}
	if err := s.written.Write(ctx, patch.Typed[*corev1.Service](s.guest.CoreV1().Services(service.Namespace).Patch), service, change.of(service)); err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	if asked := replacedAddress(service, g.addresses); asked != "" {
		s.mu.Lock()
		s.replaced[keyOf(service)] = asked
		s.mu.Unlock()
	}
	return nil
}

// replacedAddress returns the address that another client has written to a Service and that the given addresses replace, or "". An
// address written by this controller is in both fields and in the status.
func replacedAddress(service *corev1.Service, addresses []string) string {
	field, annotated := service.Spec.LoadBalancerIP, split(service.Annotations[lbv1.AddressesAnnotation])
	first := ""
	if len(annotated) > 0 {
		first = annotated[0]
	}
	for _, asked := range []string{first, field} {
		reached := slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == asked })
		ours := first == field && reached
		if asked != "" && len(addresses) > 0 && !ours && !unspecified(asked) && !slices.Contains(addresses, asked) {
			return asked
		}
	}
	return ""
}

// change is an update of a Service; nil values remove keys.
type change struct {
	annotations, labels map[string]*string
	loadBalancerIP      string
}

// of returns a copy of the Service with the change applied.
func (c *change) of(service *corev1.Service) *corev1.Service {
	changed := service.DeepCopy()
	changed.Annotations = patch.SetKeys(changed.Annotations, c.annotations)
	changed.Labels = patch.SetKeys(changed.Labels, c.labels)
	changed.Spec.LoadBalancerIP = c.loadBalancerIP
	return changed
}

// changeOf returns nil if the Service is up to date.
func changeOf(service *corev1.Service, g given) *change {
	if len(validation.IsValidLabelValue(g.shares)) > 0 {
		g.shares = "" // informational, and too long
	}
	first := ""
	if len(g.addresses) > 0 {
		first = g.addresses[0]
	}
	annotations, labels := map[string]*string{}, map[string]*string{}
	put(annotations, service.Annotations, lbv1.AddressesAnnotation, joined(g.addresses))
	put(labels, service.Labels, primaryLabel, g.shares)
	if was := service.Annotations[givenNICAnnotation]; g.nic != "" || was != "" && service.Annotations[nicAnnotation] == was {
		put(annotations, service.Annotations, nicAnnotation, g.nic)
	}
	put(annotations, service.Annotations, givenNICAnnotation, g.nic)
	if service.Spec.LoadBalancerIP == first && len(annotations)+len(labels) == 0 {
		return nil
	}
	return &change{annotations, labels, first}
}

// put records that a key must be set or removed, if its value differs.
func put(in map[string]*string, had map[string]string, key, value string) {
	was, there := had[key]
	switch {
	case value == "" && there:
		in[key] = nil
	case value != "" && was != value:
		in[key] = &value
	}
}

// Balanced reports whether an address belongs to a Service.
func (s *Services) Balanced(address string) bool {
	for _, o := range s.known.List() {
		service, ok := o.(*corev1.Service)
		if !ok || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			if ingress.IP == address {
				return true
			}
		}
		for _, given := range split(service.Annotations[lbv1.AddressesAnnotation]) {
			if given == address {
				return true
			}
		}
	}
	return false
}
