// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// ConfigMapName is that of the ConfigMaps that addresses were in before IPPools.
	ConfigMapName = "kubevip"
	// converted is the annotation of the ConfigMap of times before IPPools that has been converted.
	converted = LoadBalancerGroup + "/after-conversion"
	// onNetwork is the annotation of a load balancer that names its network.
	onNetwork = LoadBalancerGroup + "/network"
)

// loadBalancer is what gives addresses on Harvester. It runs there, not in the management cluster.
func loadBalancer() Provider {
	return Provider{
		Name: "harvester-load-balancer", Group: LoadBalancerGroup, Alone: true,
		Lease: "harvester-load-balancer", LeaseNamespace: "kube-system", served: []string{"v1beta1", "v1alpha1"},
		Kinds: []string{"IPPool", "LoadBalancer"},
		Beside: []schema.GroupKind{
			{Kind: "ConfigMap"}, {Group: "kubevirt.io", Kind: "VirtualMachine"}, {Group: "kubevirt.io", Kind: "VirtualMachineInstance"},
		},
		rules: []func(*examination){
			refused(kind{name: "LoadBalancer", spec: []string{"spec"}, look: balancer}, kind{name: "IPPool", spec: []string{"spec"}, look: pool}),
			poolsBeside, holders, networks, dhcpPools, kubeVIP, finalizers,
		},
	}
}

// balancerSpec is what is looked at of a LoadBalancer.
type balancerSpec struct {
	WorkloadType, IPAM, IPPool string
	Listeners                  []struct {
		Name, Protocol    string
		Port, BackendPort int
	}
	HealthCheck struct{ Port, SuccessThreshold, FailureThreshold, PeriodSeconds, TimeoutSeconds int }
}

// balancer has the rules of load balancers of virtual machines; those of clusters have neither listeners nor health checks.
func balancer(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[balancerSpec](object, "spec")
	if spec.WorkloadType == "cluster" {
		return nil
	}
	if len(spec.Listeners) == 0 {
		return field.ErrorList{field.Required(path.Child("listeners"), "name a port, its protocol and the backendPort of the machines that it leads to")}
	}
	var errs field.ErrorList
	names, ports, backends := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, listener := range spec.Listeners {
		path := path.Child("listeners").Index(i)
		switch {
		case listener.Name == "" && len(spec.Listeners) > 1:
			errs = append(errs, field.Required(path.Child("name"), "name each listener where there are several"))
		case names[listener.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), listener.Name))
		case listener.Name != "" && len(validation.IsDNS1123Label(listener.Name)) > 0:
			errs = append(errs, field.Invalid(path.Child("name"), listener.Name, "is no name of a port"))
		}
		names[listener.Name] = true
		if !slices.Contains([]string{"TCP", "UDP", "SCTP"}, listener.Protocol) {
			errs = append(errs, field.Invalid(path.Child("protocol"), listener.Protocol, "is no protocol"))
		}
		errs = append(errs, port(listener.Protocol, listener.Port, ports, path.Child("port"))...)
		errs = append(errs, port(listener.Protocol, listener.BackendPort, backends, path.Child("backendPort"))...)
	}
	return append(errs, spec.health(path.Child("healthCheck"))...)
}

func port(protocol string, number int, known map[string]bool, path *field.Path) field.ErrorList {
	key := fmt.Sprintf("%s %d", protocol, number)
	defer func() { known[key] = true }()
	switch {
	case len(validation.IsValidPortNum(number)) > 0:
		return field.ErrorList{field.Invalid(path, number, "is no port")}
	case known[key]:
		return field.ErrorList{field.Duplicate(path, key)}
	}
	return nil
}

func (s balancerSpec) health(path *field.Path) field.ErrorList {
	check := s.HealthCheck
	if check.Port == 0 {
		return nil
	}
	var errs field.ErrorList
	if !slices.ContainsFunc(s.Listeners, func(l struct {
		Name, Protocol    string
		Port, BackendPort int
	},
	) bool {
		return l.BackendPort == check.Port && l.Protocol == "TCP"
	}) {
		errs = append(errs, field.Invalid(path.Child("port"), check.Port, "is the backendPort of no TCP listener"))
	}
	for name, value := range map[string]int{
		"successThreshold": check.SuccessThreshold, "failureThreshold": check.FailureThreshold, "periodSeconds": check.PeriodSeconds, "timeoutSeconds": check.TimeoutSeconds,
	} {
		if value < 1 {
			errs = append(errs, field.Invalid(path.Child(name), value, "is less than 1"))
		}
	}
	return errs
}

type (
	ipPool struct {
		Ranges   []ipRange
		Selector struct {
			Network  string
			Priority int
			Scope    []scope
		}
	}
	ipRange struct{ Subnet, RangeStart, RangeEnd, Gateway string }
	scope   struct{ Project, Namespace, GuestCluster string }
	// span is a range of addresses, both ends among them.
	span struct{ first, last netip.Addr }
)

// span completes a range as pools do: a whole subnet is without its own address and that for broadcasts.
func (r ipRange) span() (span, error) {
	prefix, err := netip.ParsePrefix(r.Subnet)
	if err != nil {
		return span{}, fmt.Errorf("subnet %q is none", r.Subnet)
	}
	subnet := prefix.Masked()
	gateway, s := subnet.Addr().Next(), span{subnet.Addr().Next(), last(subnet)}
	switch hosts := subnet.Addr().BitLen() - subnet.Bits(); {
	case hosts == 0:
		gateway, s = netip.Addr{}, span{subnet.Addr(), subnet.Addr()}
	case hosts == 1:
		s.first = subnet.Addr()
	case subnet.Addr().Is4():
		s.last = s.last.Prev()
	}
	for _, of := range []struct {
		name, given string
		to          *netip.Addr
	}{{"rangeStart", r.RangeStart, &s.first}, {"rangeEnd", r.RangeEnd, &s.last}, {"gateway", r.Gateway, &gateway}} {
		if of.given == "" || subnet.IsSingleIP() && of.name == "gateway" {
			continue
		}
		if *of.to, err = within(subnet, of.given); err != nil {
			return span{}, fmt.Errorf("%s %w", of.name, err)
		}
	}
	return s.beside(gateway)
}

// beside turns a range round where it has to be, and wants more of it than the gateway.
func (s span) beside(gateway netip.Addr) (span, error) {
	if s.last.Less(s.first) {
		s.first, s.last = s.last, s.first
	}
	if s.first == s.last && s.first == gateway {
		return span{}, fmt.Errorf("its only address %s is the gateway", gateway)
	}
	return s, nil
}

// within wants an address of a subnet that machines can have.
func within(subnet netip.Prefix, given string) (netip.Addr, error) {
	address, err := netip.ParseAddr(given)
	address = address.Unmap()
	switch wide := subnet.Addr().BitLen()-subnet.Bits() > 1; {
	case err != nil || !subnet.Contains(address):
		return netip.Addr{}, fmt.Errorf("%q is no address of subnet %s", given, subnet)
	case wide && (address == subnet.Addr() || address.Is4() && address == last(subnet)):
		return netip.Addr{}, fmt.Errorf("%s is the subnet's own or its broadcast address", given)
	}
	return address, nil
}

// last is the address of a subnet in which all bits of the host are set.
func last(subnet netip.Prefix) netip.Addr {
	bytes := subnet.Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}

func (s span) overlaps(t span) bool { return !s.last.Less(t.first) && !t.last.Less(s.first) }

func (s scope) overlaps(t scope) bool {
	same := func(a, b string) bool { return a == b || a == "*" || b == "*" }
	return same(s.Project, t.Project) && same(s.Namespace, t.Namespace) && same(s.GuestCluster, t.GuestCluster)
}

func (p ipPool) global() bool { return slices.Equal(p.Selector.Scope, []scope{{"*", "*", "*"}}) }

// pool has the rules of a pool alone.
func pool(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[ipPool](object, "spec")
	if len(spec.Ranges) == 0 {
		return field.ErrorList{field.Required(path.Child("ranges"), "name a subnet that addresses are given from")}
	}
	var errs field.ErrorList
	var spans []span
	for i, r := range spec.Ranges {
		s, err := r.span()
		switch at := path.Child("ranges").Index(i); {
		case err != nil:
			errs = append(errs, field.Invalid(at, r.Subnet, err.Error()))
		case slices.ContainsFunc(spans, s.overlaps):
			errs = append(errs, field.Invalid(at, r.Subnet, "has addresses of another range of the pool"))
		default:
			spans = append(spans, s)
		}
	}
	for i, s := range spec.Selector.Scope {
		if slices.ContainsFunc(spec.Selector.Scope[:i], s.overlaps) {
			errs = append(errs, field.Invalid(path.Child("selector", "scope").Index(i), fmt.Sprint(s), "is for some that another scope of the pool is for"))
		}
	}
	return errs
}

// poolsBeside looks for pools that have addresses of another: upstream's webhook can miss those that are made at the same time.
func poolsBeside(e *examination) {
	pools := slices.Clone(e.Objects["IPPool"])
	slices.SortFunc(pools, func(a, b unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	for i := range pools {
		pool, spec := &pools[i], as[ipPool](&pools[i], "spec")
		for j := range pools[:i] {
			older, theirs := &pools[j], as[ipPool](&pools[j], "spec")
			for k, r := range spec.Ranges {
				if s, err := r.span(); err == nil && slices.ContainsFunc(theirs.Ranges, func(t ipRange) bool {
					other, err := t.span()
					return err == nil && other.overlaps(s)
				}) {
					e.aboutField(pool, fmt.Sprintf("spec.ranges[%d]", k), Stops, "Pools", fmt.Sprintf(
						"has addresses of the older IPPool %s: the pool gives none until that has ended; make one end before the other begins", older.GetName()))
				}
			}
			if p := spec.Selector.Priority; p != 0 && p == theirs.Selector.Priority || spec.ambiguous(theirs) {
				e.aboutField(pool, "spec.selector", Check, "Pools", fmt.Sprintf(
					"is for some that the older IPPool %s is for with priority %d: who names neither has the first by name, where upstream leaves it to chance; give one of them another priority, or another scope", older.GetName(), p))
			}
		}
	}
}

func (p ipPool) ambiguous(other ipPool) bool {
	if p.global() || other.global() {
		return p.global() && other.global()
	}
	plain := p.Selector.Priority == 0 && other.Selector.Priority == 0 && p.Selector.Network == other.Selector.Network
	return plain && slices.ContainsFunc(p.Selector.Scope, func(s scope) bool {
		return slices.ContainsFunc(other.Selector.Scope, s.overlaps)
	})
}

// holders compares what pools say of addresses with what load balancers show.
func holders(e *examination) {
	shown := map[string]string{}
	for i := range e.Objects["LoadBalancer"] {
		lb := &e.Objects["LoadBalancer"][i]
		shown[lb.GetNamespace()+"/"+lb.GetName()] = text(lb, "status", "allocatedAddress", "ip")
		if verdict, message := e.shows(lb); message != "" {
			e.aboutField(lb, "status.allocatedAddress", verdict, "Addresses", message)
		}
	}
	for i := range e.Objects["IPPool"] {
		pool := &e.Objects["IPPool"][i]
		held := as[map[string]string](pool, "status", "allocated")
		for _, ip := range slices.Sorted(maps.Keys(held)) {
			if was := shown[held[ip]]; was != ip && was != "" {
				e.aboutField(pool, "status.allocated["+ip+"]", Changes, "Addresses", fmt.Sprintf("is of LoadBalancer %s, which shows %s: what it shows is what it has when the new manager starts", held[ip], was))
			}
		}
	}
}

// shows says what becomes of the address that a load balancer shows.
func (e *examination) shows(lb *unstructured.Unstructured) (Verdict, string) {
	of, ip := text(lb, "status", "allocatedAddress", "ipPool"), text(lb, "status", "allocatedAddress", "ip")
	if of == "" || ip == "" || ip == "0.0.0.0" {
		return "", ""
	}
	pool := e.object("IPPool", of)
	if pool == nil {
		return Check, fmt.Sprintf("IPPool %s, which it has %s of, does not exist: it keeps the address, and nobody looks after it; make the pool again", of, ip)
	}
	switch holder := as[map[string]string](pool, "status", "allocated")[ip]; holder {
	case lb.GetNamespace() + "/" + lb.GetName():
		return "", ""
	case "":
		return Changes, fmt.Sprintf("IPPool %s does not say that it has %s: it does when the new manager starts", of, ip)
	default:
		return Stops, fmt.Sprintf("IPPool %s says that %s is of %s: one of the two would get another address; make the load balancer again that may have one", of, ip, holder)
	}
}

// networks looks for addresses that the global pool has given for a network of its own: they stay, and are not given again.
func networks(e *examination) {
	e.each(Check, "Networks", func(lb *unstructured.Unstructured) string {
		network, of := lb.GetAnnotations()[onNetwork], text(lb, "status", "allocatedAddress", "ipPool")
		pool := e.object("IPPool", of)
		if network == "" || pool == nil || text(lb, "spec", "ipPool") != "" {
			return ""
		}
		spec := as[ipPool](pool, "spec")
		if on := spec.Selector.Network; !spec.global() || on == "" || on == network || on == lb.GetNamespace()+"/"+network {
			return ""
		}
		return fmt.Sprintf("it is on network %s and has an address of the global IPPool %s, which is for %s: it keeps that, but another one would wait; make a pool for the network, or name this one in spec.ipPool",
			network, of, spec.Selector.Network)
	}, "LoadBalancer")
}

// dhcpPools looks for pools without effect.
func dhcpPools(e *examination) {
	e.each(Changes, "Pools", func(lb *unstructured.Unstructured) string {
		if pool := text(lb, "spec", "ipPool"); pool != "" && text(lb, "spec", "ipam") == "dhcp" {
			return fmt.Sprintf("spec.ipPool %s has no effect with ipam dhcp", pool)
		}
		return ""
	}, "LoadBalancer")
}

// kubeVIP looks at the ConfigMap of times before IPPools.
func kubeVIP(e *examination) {
	e.each(Check, "ConfigMap", func(config *unstructured.Unstructured) string {
		if config.GetNamespace() != "kube-system" || config.GetName() != ConfigMapName || config.GetAnnotations()[converted] == "true" {
			return ""
		}
		var pools, left []string
		for _, key := range slices.Sorted(maps.Keys(as[map[string]string](config, "data"))) {
			format, name, _ := strings.Cut(key, "-")
			switch {
			case slices.Contains([]string{"kubevip-services", "search-order", "skip-end-ips-in-cidr", "allow-share", "interface"}, key):
			case name != "" && (format == "cidr" || format == "range"):
				pools = append(pools, name)
			default:
				left = append(left, key)
			}
		}
		slices.Sort(pools)
		message := fmt.Sprintf("it becomes the IPPools %s when the new manager starts, and nobody is given an address before: those that are there under such a name stay as they are",
			strings.Join(slices.Compact(pools), ", "))
		if len(left) > 0 {
			message += fmt.Sprintf("; its keys %s are left out, as they are neither cidr-<namespace> nor range-<namespace>", strings.Join(left, ", "))
		}
		return message
	}, "ConfigMap")
}

// finalizers says which of upstream's go, and which stay.
func finalizers(e *examination) {
	for _, kind := range []string{"VirtualMachine", "VirtualMachineInstance"} {
		n := 0
		for i := range e.Objects[kind] {
			if slices.ContainsFunc(e.Objects[kind][i].GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, "wrangler.cattle.io/harvester-lb-vm") }) {
				n++
			}
		}
		if n > 0 {
			e.ofAll(kind, Changes, "Finalizers", fmt.Sprintf("%d lose the finalizer of upstream's load balancer: none is needed", n))
		}
	}
}
