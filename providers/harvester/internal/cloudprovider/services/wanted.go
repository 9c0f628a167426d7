// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Options apply to the guest cluster as a whole.
type Options struct {
	// Cluster is its name on Harvester, which scopes of pools may select.
	Cluster string
	// Network is the network of its Nodes, as namespace/name; "" lets Harvester find it.
	Network string
	// Pools maps families to pools. Without a pool, Harvester selects one. A second address of a Service requires a pool here.
	Pools map[corev1.IPFamily]string
}

// part is one address of a Service.
type part struct {
	name   string // of the LoadBalancer
	family corev1.IPFamily
	pool   string // "" if Harvester selects it
}

// allParts returns the addresses that a Service may have: one of each of its families. It returns none for a Service that needs no load
// balancer, unless the service controller still has to clean up. service may be nil.
func (o Options) allParts(service *corev1.Service) []part {
	if service == nil || !wantsBalancer(service) && !servicehelper.HasLBFinalizer(service) {
		return nil
	}
	first, second := corev1.IPv4Protocol, corev1.IPv6Protocol
	if len(service.Spec.IPFamilies) > 0 && service.Spec.IPFamilies[0] == second {
		first, second = second, first
	}
	other := service.DeepCopy()
	other.UID += "/second"
	return []part{
		{name: Name(o.Cluster, service), family: first, pool: o.Pools[first]},
		{name: Name(o.Cluster, other), family: second, pool: o.Pools[second]},
	}
}

// neededParts returns the addresses that a Service needs: one, or one of each family if it has both and the second one has a pool. A
// Service that shares the address of another needs none.
func (o Options) neededParts(service *corev1.Service) []part {
	list := o.allParts(service)
	switch {
	case len(list) == 0, service.Annotations[primaryAnnotation] != "":
		return nil
	case len(service.Spec.IPFamilies) > 1 && list[1].pool != "" && ipamOf(service) == lbv1.IPAMPool:
		return list
	default:
		return list[:1]
	}
}

// toleratesMissing reports whether a Service does without its second address until the user acts: it does not require that
// address, and the address is not announced.
func toleratesMissing(service *corev1.Service, second part, why error) bool {
	waits := &waitError{}
	return errors.As(why, &waits) && waits.stuck && !requiresBoth(service) && announced(service, second.family) == ""
}

// missingError returns the error for a Service that does without its second address.
func missingError(second part, why error) error {
	return &waitError{stuck: true, reason: addressMissing, what: fmt.Sprintf(
		"the Service has no %s address, which it prefers but does not require: %s", second.family, why.Error())}
}

func requiresBoth(service *corev1.Service) bool {
	return ptr.Deref(service.Spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack) == corev1.IPFamilyPolicyRequireDualStack
}

// missingFamily returns why a Service cannot have a second address that it requires, or "".
func (o Options) missingFamily(service *corev1.Service) string {
	if !requiresBoth(service) || service.Annotations[primaryAnnotation] != "" || len(o.neededParts(service)) != 1 {
		return ""
	}
	second := o.allParts(service)[1].family
	if ipamOf(service) != lbv1.IPAMPool {
		return fmt.Sprintf("the Service requires addresses of both IP families and has no %s address: annotation %s %q assigns only one, so set it to %q",
			second, ipamAnnotation, ipamOf(service), lbv1.IPAMPool)
	}
	return fmt.Sprintf("the Service requires addresses of both IP families and has no %s address: set a pool for that family with the cloud provider's flag --%s-pool",
		second, strings.ToLower(string(second)))
}

func names(parts []part) []string {
	var list []string
	for _, p := range parts {
		list = append(list, p.name)
	}
	return list
}

func ipamOf(service *corev1.Service) lbv1.IPAM {
	return lbv1.IPAM(cmp.Or(service.Annotations[ipamAnnotation], string(lbv1.IPAMPool)))
}

// wanted returns the desired LoadBalancer of a part of a Service; had is the existing one or nil. Fields that decided on an allocated
// address stay unchanged. Without an address, the pool is the current one of the cloud provider.
func (o Options) wanted(service *corev1.Service, p part, had *lbv1.LoadBalancer, owner string) *lbv1.LoadBalancer {
	lb := had.DeepCopy()
	if lb == nil {
		lb = &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: lbv1.LoadBalancerSpec{
			WorkloadType: lbv1.WorkloadCluster, IPAM: ipamOf(service), IPPool: p.pool,
		}}
		annotate(lb, askedAnnotation, service.Annotations[networkAnnotation])
		annotate(lb, lbv1.NetworkAnnotation, cmp.Or(service.Annotations[networkAnnotation], o.Network))
		annotate(lb, lbv1.ProjectAnnotation, service.Annotations[projectAnnotation])
	}
	if has, err := allocated(lb, p); p.pool != "" && (has == "" || err != nil) {
		lb.Spec.IPPool = p.pool
	}
	annotate(lb, lbv1.ClusterAnnotation, o.Cluster)
	annotate(lb, lbv1.ClusterUIDAnnotation, owner)
	if o.Network != "" {
		annotate(lb, lbv1.ManagementNetworkAnnotation, o.Network)
	}
	for key, value := range o.labels(service) {
		metav1.SetMetaDataLabel(&lb.ObjectMeta, key, value)
	}
	if address := announced(service, p.family); address != "" {
		lb.Status.Address = address
	}
	return lb
}

func annotate(lb *lbv1.LoadBalancer, key, value string) {
	metav1.SetMetaDataAnnotation(&lb.ObjectMeta, key, value)
}

// labels returns the labels that identify the Service of a LoadBalancer.
func (o Options) labels(service *corev1.Service) map[string]string {
	return map[string]string{lbv1.GuestClusterLabel: o.Cluster, namespaceLabel: service.Namespace, nameLabel: service.Name}
}

// announced returns the address of a family in the status of the Service, or "".
func announced(service *corev1.Service, family corev1.IPFamily) string {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if addr, err := netip.ParseAddr(ingress.IP); err == nil && familyOf(addr) == family {
			return ingress.IP
		}
	}
	return ""
}

// allocated returns the address that Harvester has allocated, or "". For an address of a DHCP server, kube-vip expects the unspecified
// address of its family.
func allocated(lb *lbv1.LoadBalancer, p part) (string, error) {
	text := lb.Status.AllocatedAddress.IP
	addr, err := netip.ParseAddr(text)
	switch {
	case text == "":
		return "", nil
	case err != nil:
		return "", fmt.Errorf("LoadBalancer %s/%s on Harvester has the address %q, which is not an IP address", lb.Namespace, lb.Name, text)
	case addr.IsUnspecified() && p.family == corev1.IPv6Protocol:
		return netip.IPv6Unspecified().String(), nil
	case !addr.IsUnspecified() && familyOf(addr) != p.family:
		return "", &waitError{stuck: true, what: fmt.Sprintf(
			"LoadBalancer %s/%s on Harvester has the address %s, but the Service needs an %s address: set a pool for that family with the cloud provider's flag --%s-pool",
			lb.Namespace, lb.Name, text, p.family, strings.ToLower(string(p.family)))}
	}
	return text, nil
}

func familyOf(addr netip.Addr) corev1.IPFamily {
	if addr.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// needsUpdate reports whether the LoadBalancer must be written.
func needsUpdate(lb, wanted *lbv1.LoadBalancer) bool {
	return !apiequality.Semantic.DeepEqual(lb, wanted)
}

// check validates a Service that needs an address of its own. lb is its LoadBalancer or nil.
func check(service *corev1.Service, lb *lbv1.LoadBalancer) error {
	ipam := ipamOf(service)
	if ipam != lbv1.IPAMPool && ipam != lbv1.IPAMDHCP {
		return fmt.Errorf("annotation %s is %q: it must be %s or %s", ipamAnnotation, ipam, lbv1.IPAMPool, lbv1.IPAMDHCP)
	}
	if lb == nil {
		return nil
	}
	if has := cmp.Or(lb.Spec.IPAM, lbv1.IPAMPool); has != ipam {
		return fmt.Errorf("annotation %s is %q, but the Service has its address by %q: set it back, or recreate the Service", ipamAnnotation, ipam, has)
	}
	asked, noted := lb.Annotations[askedAnnotation]
	if network := service.Annotations[networkAnnotation]; network != asked && (noted || network != lb.Annotations[lbv1.NetworkAnnotation]) {
		return fmt.Errorf("annotation %s is %q, but the Service has its address in network %q: set it back, or recreate the Service", networkAnnotation, network, asked)
	}
	return nil
}

// foreign returns why an existing LoadBalancer of the name does not belong to the Service. One without an owner UID is from an earlier
// version and belongs to the Service if its labels match.
func (o Options) foreign(service *corev1.Service, lb *lbv1.LoadBalancer, owner string) error {
	switch of := lb.Annotations[lbv1.ClusterUIDAnnotation]; {
	case of == "":
	case of != owner:
		return fmt.Errorf("LoadBalancer %s/%s on Harvester belongs to another cluster: its annotation %s is %s, not %s", lb.Namespace, lb.Name, lbv1.ClusterUIDAnnotation, of, owner)
	}
	for key, value := range o.labels(service) {
		if lb.Labels[key] != value {
			return fmt.Errorf("LoadBalancer %s/%s on Harvester does not belong to this Service: its label %s is %q, not %q", lb.Namespace, lb.Name, key, lb.Labels[key], value)
		}
	}
	return nil
}

// namesake returns an error if another cluster of the same name has a LoadBalancer: pools could not distinguish their addresses.
func (o Options) namesake(all []lbv1.LoadBalancer, owner string) error {
	for i := range all {
		lb := &all[i]
		if of := lb.Annotations[lbv1.ClusterUIDAnnotation]; lb.Labels[lbv1.GuestClusterLabel] == o.Cluster && of != "" && of != owner {
			return fmt.Errorf("another cluster, whose namespace kube-system has the UID %s, has the same name %q and LoadBalancer %s/%s on Harvester: "+
				"set a unique --cluster-name for each cluster of that namespace, or delete the LoadBalancer if its cluster was deleted", of, o.Cluster, lb.Namespace, lb.Name)
		}
	}
	return nil
}

// pending returns the waitError of a LoadBalancer without an address, with the reason that Harvester reports, if any.
func pending(lb *lbv1.LoadBalancer) *waitError {
	said, stuck := "Harvester has not processed it yet", false
	for _, c := range lb.Status.Conditions {
		if c.Type == lbv1.ReadyCondition && c.Message != "" {
			said, stuck = "Harvester reports "+c.Message, true
		}
	}
	return &waitError{stuck: stuck, what: fmt.Sprintf("LoadBalancer %s/%s on Harvester waits for its address: %s", lb.Namespace, lb.Name, said)}
}

// joined formats several addresses for kube-vip.
func joined(addresses []string) string { return strings.Join(addresses, ",") }

func split(addresses string) []string {
	return strings.FieldsFunc(addresses, func(r rune) bool { return r == ',' || r == ' ' })
}
