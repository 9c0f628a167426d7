// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loadbalancer computes the desired load balancer of a control plane, interprets its status, and validates load balancers. It
// converts them between v1alpha1 and v1beta1, the hub. It sends no requests.
//
// A conversion reads no other objects: the API server calls it whenever it reads an object that is stored as v1alpha1, even while pools
// cannot be read, and an object that cannot be converted cannot be read, listed or deleted. Fields that only the hub has are kept in an
// annotation, as in Cluster API. What v1alpha1 expresses differently is kept in the hub until Complete has resolved it:
//
//   - addresses of machines, which the hub selects by labels, are in lbv1.BackendServersAnnotation;
//   - an address without its pool is in status.allocatedAddress.ip without ipPool.
package loadbalancer

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

const (
	// apiServer is the name of the listener that always exists.
	apiServer = "api-server"
	// defaultPort is the default port of the API server.
	defaultPort = 6443

	// withoutEndpoints on a Service is the annotation that makes kube-vip announce it without endpoints. kube-vip 1.2 and later would not,
	// and no machine is created before the address is known.
	withoutEndpoints = "kube-vip.io/allow-reconcile-without-endpoints"
)

// what is the suffix of the load balancer's name, now and before Faultline.
const what = "lb"

// Port returns the port of the control-plane endpoint. backend is that of the machines, 0 for the default.
func Port(cluster *infrav1.HarvesterCluster, backend int32) int32 {
	return cmp.Or(cluster.Spec.ControlPlaneEndpoint.Port, backend, defaultPort)
}

// Wanted returns the desired load balancer of a cluster. backend is the port of the API server on its machines, 0 for the default; pool
// is the pool of its address, "" for DHCP.
func Wanted(by owned.By, backend int32, pool string) *lbv1.LoadBalancer {
	config := by.Cluster.Spec.LoadBalancerConfig
	backend = cmp.Or(backend, defaultPort)
	lb := &lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: by.Cluster.Spec.TargetNamespace, Name: by.NameFor(what)},
		Spec: lbv1.LoadBalancerSpec{
			Description:  cmp.Or(config.Description, "Control plane of cluster "+by.Cluster.Namespace+"/"+by.Name),
			WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAM(config.IPAMType), IPPool: pool,
			Listeners:             listeners(config.Listeners, Port(by.Cluster, backend), backend),
			BackendServerSelector: map[string][]string{infrav1.ControlPlaneLabel: {by.Cluster.ID()}},
			HealthCheck:           &lbv1.HealthCheck{Port: uint(backend), SuccessThreshold: 1, FailureThreshold: 3, PeriodSeconds: 5, TimeoutSeconds: 3}, //nolint:gosec // a port
		},
	}
	by.Mark(lb)
	return lb
}

// listeners returns those of the user, and that of the API server unless the user has defined it.
func listeners(given []infrav1.Listener, port, backend int32) []lbv1.Listener {
	all := make([]lbv1.Listener, 0, len(given)+1)
	for _, l := range given {
		all = append(all, lbv1.Listener{Name: l.Name, Port: l.Port, Protocol: l.Protocol, BackendPort: l.BackendPort})
	}
	own := lbv1.Listener{Name: apiServer, Port: port, Protocol: corev1.ProtocolTCP, BackendPort: backend}
	if slices.ContainsFunc(all, func(l lbv1.Listener) bool { return l.Port == port && l.Protocol == corev1.ProtocolTCP }) {
		return all
	}
	return append(all, own)
}

// Change updates an existing load balancer and reports whether it has changed. Fields that decide on its address and its backends stay
// unchanged: the endpoint of a cluster is immutable.
func Change(lb, wanted *lbv1.LoadBalancer, by owned.By) bool {
	changed := by.Mark(lb)
	if lb.Spec.Description != wanted.Spec.Description || !slices.Equal(lb.Spec.Listeners, wanted.Spec.Listeners) {
		lb.Spec.Description, lb.Spec.Listeners, changed = wanted.Spec.Description, wanted.Spec.Listeners, true
	}
	return changed
}

// Own returns the load balancer of a cluster among all of its namespace: the one that has its id, or one created
// before Faultline, which has the former name and the published address of the cluster. One that has the id under another name is a
// copy. foreign is another load balancer that occupies the name.
func Own(by owned.By, all []lbv1.LoadBalancer) (own, foreign *lbv1.LoadBalancer) {
	for i := range all {
		if by.HasNamed(&all[i], by.NameFor(what), by.FormerNameFor(what)) {
			return &all[i], nil
		}
	}
	published := by.Cluster.Spec.ControlPlaneEndpoint
	for i := range all {
		lb := &all[i]
		unclaimed := lb.Labels[infrav1.ClusterIDLabel] == ""
		if unclaimed && lb.Name == by.FormerNameFor(what) && published.IsSet() && lb.Status.Address == published.Host {
			return lb, nil
		}
		if lb.Name == by.NameFor(what) {
			foreign = lb
		}
	}
	return nil, foreign
}

// OfServices returns the load balancers of Services of the guest cluster with the UID, according to its cloud provider.
func OfServices(all []lbv1.LoadBalancer, uid string) []*lbv1.LoadBalancer {
	var own []*lbv1.LoadBalancer
	for i := range all {
		if lb := &all[i]; uid != "" && lb.Spec.WorkloadType == lbv1.WorkloadCluster && lb.Annotations[lbv1.ClusterUIDAnnotation] == uid {
			own = append(own, lb)
		}
	}
	return own
}

// Service returns the Service that announces the address of a load balancer. Harvester adopts it. One that Harvester creates itself would
// never be announced.
func Service(by owned.By, lb *lbv1.LoadBalancer) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lb.Namespace, Name: lb.Name, Labels: map[string]string{lbv1.ServiceLabel: "true"}, OwnerReferences: ownedBy(lb),
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: lb.Status.AllocatedAddress.IP},
	}
	for _, l := range lb.Spec.Listeners {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name: l.Name, Protocol: l.Protocol, Port: l.Port, TargetPort: intstr.FromInt32(l.BackendPort),
		})
	}
	MarkService(by, service)
	return service
}

// MarkService marks a Service as the cluster's and to be announced. It reports whether the Service has changed.
func MarkService(by owned.By, service *corev1.Service) bool {
	changed := by.Mark(service)
	if service.Annotations[withoutEndpoints] != "true" {
		service.Annotations[withoutEndpoints], changed = "true", true
	}
	return changed
}

// Belongs reports whether an object with the name of a load balancer belongs to it: it has the cluster's id, or Harvester has created it.
func Belongs(by owned.By, lb *lbv1.LoadBalancer, o client.Object) bool {
	return by.Has(o) || slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == lb.UID })
}

// Placeholder returns the endpoint of a load balancer without backends. It is like the one that Harvester creates, but exists before the
// address is announced: kube-vip 1.2 and later announces no Service without endpoints.
func Placeholder(by owned.By, lb *lbv1.LoadBalancer) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lb.Namespace, Name: lb.Name, OwnerReferences: ownedBy(lb),
			Labels: map[string]string{lbv1.ServiceLabel: "true", discoveryv1.LabelServiceName: lb.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{lbv1.PlaceholderAddress}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			TargetRef: &corev1.ObjectReference{Namespace: lb.Namespace, Name: lb.Name, UID: lbv1.PlaceholderUID},
		}},
	}
	for _, l := range lb.Spec.Listeners {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(l.Name), Protocol: ptr.To(l.Protocol), Port: ptr.To(l.BackendPort)})
	}
	by.Mark(slice)
	return slice
}

func ownedBy(lb *lbv1.LoadBalancer) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: lbv1.GroupVersion.String(), Kind: "LoadBalancer", Name: lb.Name, UID: lb.UID}}
}
