// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// host chooses the host of a virtual machine that vSphere would not keep in its host group: the usable host with the fewest
// virtual machines. Machines that start together are spread by a hash of their names.
func (r *resolver) host(p Placement, datastore Ref, networks []NetworkBacking) Ref {
	if p.HostGroup == "" || r.compute == nil || r.compute.Unbound(p.VMGroup, p.HostGroup) == "" {
		return Ref{}
	}
	var fit []Ref
	var why []string
	for _, host := range r.compute.Groups.Hosts[p.HostGroup] {
		if reason := r.unfit(host, datastore, networks); reason != "" {
			why = append(why, fmt.Sprintf("%s %s", r.ix.NameOf(host), reason))
		} else {
			fit = append(fit, host)
		}
	}
	if len(fit) == 0 {
		slices.Sort(why)
		detail := fmt.Sprintf("compute cluster %s has no such host group, or the group is empty", r.compute.Name)
		if len(why) > 0 {
			detail = strings.Join(why[:min(len(why), maxListed)], ", ")
		}
		r.errs = append(r.errs, &vcerrors.LookupError{Field: string(KindHost), Value: p.HostGroup, Err: vcerrors.ErrInvalid, Detail: "no host of the group can be used: " + detail})
		return Ref{}
	}
	load := r.ix.Load(fit)
	return slices.MinFunc(fit, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(spread(p.Name, a), spread(p.Name, b)), CompareRefs(a, b))
	})
}

// unfit returns why a host cannot run a virtual machine, or "".
func (r *resolver) unfit(host, datastore Ref, networks []NetworkBacking) string {
	e, ok := r.ix.Entities[host]
	if !ok || !e.Usable() {
		return "is disconnected or in maintenance mode"
	}
	if store, ok := r.ix.Entities[datastore]; ok && !slices.Contains(store.Hosts, host) {
		return "does not mount datastore " + store.Name
	}
	for _, backing := range networks {
		if network, ok := r.ix.Entities[ParseRef("Network", backing.Ref)]; ok && len(network.Hosts) > 0 && !slices.Contains(network.Hosts, host) {
			return "is not connected to network " + network.Name
		}
	}
	return ""
}

func spread(name string, host Ref) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "/" + host.Value))
	return h.Sum64()
}
