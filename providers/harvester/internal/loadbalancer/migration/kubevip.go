// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

const (
	// globalPool is the name of the pool for namespaces without a pool of their own.
	globalPool = "global"
	// servicesKey is the key in the ConfigMap of a namespace that lists its allocated addresses.
	servicesKey = "kubevip-services"
)

// settings are keys of the ConfigMap that configure how addresses are chosen, and contain none.
var settings = []string{"search-order", "skip-end-ips-in-cidr", "allow-share", "interface"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// Complaint is a part of a ConfigMap that cannot be migrated.
type Complaint struct {
	// Namespace is that of the ConfigMap, Key the key in it.
	Namespace, Key string
	Text           string
}

// Pools returns the pools that the ConfigMap describes, by name, without holders. Its ranges may overlap: an address of both a namespace
// and the global range is in the pool of the namespace.
func Pools(config *corev1.ConfigMap) ([]*lbv1.IPPool, []Complaint) {
	ranges, complaints := rangesOf(config)
	var pools []*lbv1.IPPool
	for _, name := range names(ranges) {
		pool := newPool(name)
		for _, r := range ranges[name] {
			if other := overlapping(r, append(pools, pool)); other != "" {
				complaints = append(complaints, Complaint{config.Namespace, "*-" + name, fmt.Sprintf(
					"%s overlaps with IPPool %s: it was skipped; correct the ranges of both pools", describe(r), other)})
				continue
			}
			pool.Spec.Ranges = append(pool.Spec.Ranges, r)
		}
		if len(pool.Spec.Ranges) > 0 {
			pools = append(pools, pool)
		}
	}
	return pools, complaints
}

// rangesOf returns the ranges in the ConfigMap by the name of the pool.
func rangesOf(config *corev1.ConfigMap) (map[string][]lbv1.Range, []Complaint) {
	var complaints []Complaint
	ranges := map[string][]lbv1.Range{}
	for _, key := range slices.Sorted(maps.Keys(config.Data)) {
		format, name, ok := strings.Cut(key, "-")
		read := formats()[format]
		switch {
		case key == servicesKey || slices.Contains(settings, key):
			continue
		case !ok || name == "" || read == nil:
			complaints = append(complaints, Complaint{config.Namespace, key, "is neither cidr-<namespace> nor range-<namespace>: it was skipped; create an IPPool if it names addresses"})
			continue
		}
		for _, part := range strings.Split(config.Data[key], ",") {
			r, err := read(strings.TrimSpace(part))
			if err != nil {
				complaints = append(complaints, Complaint{config.Namespace, key, fmt.Sprintf("%q %s: it was skipped; add it to IPPool %s", part, err, name)})
				continue
			}
			ranges[name] = append(ranges[name], r)
		}
	}
	return ranges, complaints
}

// names returns the names of the pools in order of precedence for overlapping ranges: the global pool is last.
func names(ranges map[string][]lbv1.Range) []string {
	return slices.SortedFunc(maps.Keys(ranges), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == globalPool:
			return 1
		case b == globalPool:
			return -1
		}
		return strings.Compare(a, b)
	})
}

func newPool(name string) *lbv1.IPPool {
	scope := lbv1.Tuple{Project: lbv1.All, Namespace: name, GuestCluster: lbv1.All}
	if name == globalPool {
		scope.Namespace = lbv1.All
	}
	return &lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{lbv1.ConvertedAnnotation: "true"}},
		Spec:       lbv1.IPPoolSpec{Selector: lbv1.Selector{Scope: []lbv1.Tuple{scope}}},
	}
}

// formats returns the parsers of values by the prefix of the key.
func formats() map[string]func(string) (lbv1.Range, error) {
	return map[string]func(string) (lbv1.Range, error){"cidr": readCIDR, "range": readRange}
}

func readCIDR(given string) (lbv1.Range, error) {
	prefix, err := netip.ParsePrefix(given)
	if err != nil {
		return lbv1.Range{}, fmt.Errorf("is not a CIDR, for example 192.168.1.0/24")
	}
	return lbv1.Range{Subnet: prefix.Masked().String()}, nil
}

// readRange returns a range in the smallest subnet that contains both ends, neither as network nor as broadcast address.
func readRange(given string) (lbv1.Range, error) {
	from, to, _ := strings.Cut(given, "-")
	first, errFirst := netip.ParseAddr(strings.TrimSpace(from))
	last, errLast := netip.ParseAddr(strings.TrimSpace(to))
	first, last = first.Unmap(), last.Unmap()
	if errFirst != nil || errLast != nil || first.Is4() != last.Is4() {
		return lbv1.Range{}, fmt.Errorf("is not a range, for example 192.168.1.10-192.168.1.20")
	}
	if first == last {
		return lbv1.Range{Subnet: netip.PrefixFrom(first, first.BitLen()).String()}, nil
	}
	for bits := first.BitLen() - 1; bits > 0; bits-- {
		subnet := netip.PrefixFrom(first, bits).Masked()
		r := lbv1.Range{RangeStart: first.String(), RangeEnd: last.String(), Subnet: subnet.String()}
		if !subnet.Contains(last) {
			continue
		}
		if made, err := ipaddr.MakeRange(r); err == nil && made.Size() > 0 {
			return r, nil
		}
	}
	return lbv1.Range{}, fmt.Errorf("is not in a subnet")
}

func describe(r lbv1.Range) string {
	if r.RangeStart == "" {
		return r.Subnet
	}
	return r.RangeStart + "-" + r.RangeEnd
}

// overlapping returns the name of a pool that overlaps a range, or "".
func overlapping(r lbv1.Range, pools []*lbv1.IPPool) string {
	made, err := ipaddr.MakeRange(r)
	for _, pool := range pools {
		for _, other := range pool.Spec.Ranges {
			theirs, errTheirs := ipaddr.MakeRange(other)
			if err == nil && errTheirs == nil && made.Overlaps(theirs) {
				return pool.Name
			}
		}
	}
	return ""
}

// Given is an address that a Service was given.
type Given struct {
	IP netip.Addr
	// ID is namespace/name of the Service and of the LoadBalancer.
	ID string
}

// GivenIn returns the addresses that the ConfigMap of a namespace lists.
func GivenIn(config *corev1.ConfigMap) ([]Given, []Complaint) {
	text := config.Data[servicesKey]
	if text == "" {
		return nil, nil
	}
	var list struct {
		Services []struct {
			VIP  string `json:"vip"`
			Name string `json:"serviceName"`
		} `json:"services"`
	}
	complain := func(text string) Complaint { return Complaint{config.Namespace, servicesKey, text} }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, []Complaint{complain(fmt.Sprintf("is not a list of services: %s; only the Services show their addresses", err))}
	}
	var given []Given
	var complaints []Complaint
	for _, service := range list.Services {
		addr, err := netip.ParseAddr(service.VIP)
		switch {
		case err == nil && addr.IsUnspecified(): // a DHCP server assigns it
		case err != nil || service.Name == "":
			complaints = append(complaints, complain(fmt.Sprintf("vip %q or Service name %q is invalid: the entry was skipped", service.VIP, service.Name)))
		default:
			given = append(given, Given{addr.Unmap(), config.Namespace + "/" + service.Name})
		}
	}
	return given, complaints
}

// Fill records the current and former holders in the pools. An address that is not in the pool of its namespace is recorded in the global
// pool. inUse reports whether an address is in use; such an address is recorded in whichever pool contains it.
func Fill(pools []*lbv1.IPPool, given []Given, inUse func(Given) bool) {
	for _, one := range given {
		used := inUse(one)
		pool := poolOf(pools, one, used)
		if pool == nil {
			continue
		}
		status, into, ip := &pool.Status, &pool.Status.AllocatedHistory, one.IP.String()
		if _, held := status.Allocated[ip]; held {
			continue
		}
		if used {
			into = &status.Allocated
			delete(status.AllocatedHistory, ip)
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[ip] = one.ID
	}
	for _, pool := range pools {
		if full, err := allocation.NewPool(pool); err == nil {
			counted := full.Status()
			pool.Status.Total, pool.Status.Available = counted.Total, counted.Available
		}
	}
}

func poolOf(pools []*lbv1.IPPool, given Given, anyPool bool) *lbv1.IPPool {
	namespace, _, _ := strings.Cut(given.ID, "/")
	var global, other *lbv1.IPPool
	for _, pool := range pools {
		switch {
		case !slices.ContainsFunc(pool.Spec.Ranges, func(r lbv1.Range) bool { return has(r, given.IP) }):
		case pool.Name == namespace:
			return pool
		case pool.Name == globalPool:
			global = pool
		case anyPool:
			other = pool
		}
	}
	return cmp.Or(global, other)
}

func has(r lbv1.Range, addr netip.Addr) bool {
	made, err := ipaddr.MakeRange(r)
	return err == nil && made.Contains(addr)
}
