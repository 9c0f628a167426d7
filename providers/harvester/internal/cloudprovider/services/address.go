// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// sharingIndex finds the Services that share the address of another.
const sharingIndex = "primary-service"

func bySharing(o any) ([]string, error) {
	service, ok := o.(*corev1.Service)
	if !ok || !wantsBalancer(service) {
		return nil, nil
	}
	primary, err := primaryOf(service)
	if err != nil || primary.Name == "" {
		return nil, nil //nolint:nilerr // who names nobody shares nothing
	}
	return []string{primary.String()}, nil
}

// sharing are the Services that share the address of the named one.
func (s *Services) sharing(primary types.NamespacedName) []*corev1.Service {
	found, err := s.known.ByIndex(sharingIndex, primary.String())
	if err != nil {
		return nil // there is the index
	}
	var list []*corev1.Service
	for _, o := range found {
		if service, ok := o.(*corev1.Service); ok {
			list = append(list, service)
		}
	}
	return list
}

// service is nil when there is none of that name.
func (s *Services) service(key types.NamespacedName) (*corev1.Service, error) {
	o, there, err := s.known.GetByKey(key.String())
	if err != nil || !there {
		return nil, err
	}
	service, ok := o.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("%T is no Service", o)
	}
	return service, nil
}

// ensureShared gives a Service the address of another, and gives its own back.
func (s *Services) ensureShared(ctx context.Context, service *corev1.Service, primary types.NamespacedName) error {
	own := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	if sharing := s.sharing(own); len(sharing) > 0 {
		return fmt.Errorf("Service %s/%s has the address of this one, so it cannot have that of %s", sharing[0].Namespace, sharing[0].Name, primary) //nolint:staticcheck // a kind
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
		return wait(fmt.Sprintf("Service %s has no address yet", primary))
	}
	if err := s.address(ctx, service, addresses, primary.Namespace+"."+primary.Name); err != nil {
		return err
	}
	for _, p := range s.options.parts(service) {
		had, err := s.remembered(ctx, service, p.name)
		if err != nil {
			return err
		}
		if err := s.release(ctx, service, had); err != nil {
			return err
		}
	}
	return nil
}

// address writes the addresses into a Service; none takes them out. shares is the label of a Service that has those of another.
func (s *Services) address(ctx context.Context, service *corev1.Service, addresses []string, shares string) error {
	change := changeOf(service, addresses, shares)
	if change == nil {
		return nil
	}
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.guest.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	return nil
}

// changeOf is a merge patch; nil when nothing is to be changed. It fails on a Service that has changed meanwhile.
func changeOf(service *corev1.Service, addresses []string, shares string) map[string]any {
	if len(validation.IsValidLabelValue(shares)) > 0 {
		shares = "" // It is for people, and does not fit.
	}
	first := ""
	if len(addresses) > 0 {
		first = addresses[0]
	}
	metadata := map[string]any{}
	changed := put(metadata, "annotations", service.Annotations, addressAnnotation, joined(addresses))
	changed = put(metadata, "labels", service.Labels, primaryLabel, shares) || changed
	change := map[string]any{"metadata": metadata}
	if service.Spec.LoadBalancerIP != first {
		changed, change["spec"] = true, map[string]any{"loadBalancerIP": first}
	}
	if !changed {
		return nil
	}
	metadata["uid"], metadata["resourceVersion"] = service.UID, service.ResourceVersion
	return change
}

// put sets a value, or takes it out, and reports whether that changes anything.
func put(in map[string]any, field string, had map[string]string, key, value string) bool {
	was, there := had[key]
	switch {
	case value == "" && there:
		in[field] = map[string]any{key: nil}
	case value != "" && was != value:
		in[field] = map[string]any{key: value}
	default:
		return false
	}
	return true
}

// Balanced reports whether an address is that of a Service.
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
		for _, given := range split(service.Annotations[addressAnnotation]) {
			if given == address {
				return true
			}
		}
	}
	return false
}
