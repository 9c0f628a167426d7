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

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// Reasons of events on Services.
const (
	waitingForAddress = "WaitingForAddress"
	addressMissing    = "AddressMissing"
	addressReplaced   = "AddressReplaced"
	annotationIgnored = "AnnotationIgnored"
	loadBalancerLeft  = "LoadBalancerLeft"
)

// remark is the content of an event.
type remark struct {
	reason, text string
	// warns is set if the user must act.
	warns bool
}

// remarkOf returns the remark for a waitError.
func remarkOf(waits *waitError) remark {
	return remark{cmp.Or(waits.reason, waitingForAddress), waits.what, waits.stuck}
}

// record records events for the remarks that were not true at the last call.
func (f *follower) record(key types.NamespacedName, service *corev1.Service, remarks []remark) {
	before := f.recorded[key]
	delete(f.recorded, key)
	for _, r := range remarks {
		f.recorded[key] = append(f.recorded[key], r.text)
		if slices.Contains(before, r.text) {
			continue
		}
		kind := corev1.EventTypeNormal
		if r.warns {
			kind = corev1.EventTypeWarning
		}
		f.events.Event(service, kind, r.reason, r.text)
	}
}

// remarks returns what the user must know whether or not the Service has its address: requirements that cannot be met and settings
// without effect.
func (f *follower) remarks(ctx context.Context, key types.NamespacedName, service *corev1.Service) []remark {
	asked := f.takeReplaced(key)
	if service == nil || service.DeletionTimestamp != nil || !wantsBalancer(service) {
		return nil
	}
	var list []remark
	if lacks := f.options.missingFamily(service); lacks != "" {
		list = append(list, remark{addressMissing, lacks, true})
	}
	if asked != "" {
		list = append(list, remark{addressReplaced, fmt.Sprintf("the Service requested address %s in spec.loadBalancerIP or annotation %s, which hold the address that Harvester allocates. "+
			"To get a certain address, create an IPPool on Harvester that contains only this address and whose scope contains this cluster", asked, lbv1.AddressesAnnotation), true})
	}
	all, err := f.harvester.Balancers(ctx, f.options.labels(service))
	if err != nil {
		return list // it is read again before any change
	}
	return append(append(list, ignored(service, named(all, Name(f.options.Cluster, service)), f.harvester.Namespace())...), f.options.left(service, all)...)
}

// left returns a remark for each LoadBalancer that deleteUnused keeps, because it may belong to another cluster of the same name: upstream's
// cloud provider does not record its cluster.
func (o Options) left(service *corev1.Service, all []lbv1.LoadBalancer) []remark {
	var list []remark
	known := names(o.allParts(service))
	for i := range all {
		lb := &all[i]
		if lb.Annotations[lbv1.ClusterUIDAnnotation] != "" || lb.DeletionTimestamp != nil || slices.Contains(known, lb.Name) {
			continue
		}
		list = append(list, remark{loadBalancerLeft, fmt.Sprintf("LoadBalancer %s/%s on Harvester has the labels of this Service, but was created for a former Service of the name "+
			"or by another cluster that is named %s, and keeps its address: delete it if no other cluster uses it", lb.Namespace, lb.Name, o.Cluster), true})
	}
	return list
}

// takeReplaced returns the address that a Service had requested before it got another one. Later calls return "".
func (s *Services) takeReplaced(key types.NamespacedName) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.replaced[key]
	delete(s.replaced, key)
	return asked
}

// ignored returns remarks for annotations about the virtual machines that contradict Harvester. lb may be nil.
func ignored(service *corev1.Service, lb *lbv1.LoadBalancer, namespace string) []remark {
	var list []remark
	if said := service.Annotations[namespaceAnnotation]; said != "" && said != namespace {
		list = append(list, remark{annotationIgnored, fmt.Sprintf("annotation %s is %q and has no effect: load balancers of this cluster are in namespace %s, "+
			"that of the cloud provider's account on Harvester, and pools are selected by that namespace. Remove the annotation", namespaceAnnotation, said, namespace), true})
	}
	if lb == nil {
		return list
	}
	said, is := service.Annotations[projectAnnotation], lb.Annotations[lbv1.ProjectAnnotation]
	if said != "" && ippools.Project(said) != ippools.Project(is) {
		list = append(list, remark{annotationIgnored, fmt.Sprintf("annotation %s is %q and has no effect: namespace %s is in project %q on Harvester, "+
			"and pools are selected by that project. Remove the annotation", projectAnnotation, said, lb.Namespace, is), true})
	}
	return list
}
