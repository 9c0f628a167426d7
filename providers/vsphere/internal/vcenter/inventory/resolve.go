// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Placement holds where to place a virtual machine, as names or inventory paths.
//
// A value with a slash is a path: from the root, or relative to the datacenter's own folder of that kind ("vm", "host",
// "datastore", "network"). A value without a slash is a name anywhere in the datacenter. Shell patterns are allowed.
type Placement struct {
	Datacenter     string // "" or "*": the only one
	ComputeCluster string
	ResourcePool   string // "": the root pool of ComputeCluster, or of the only one there is
	Folder         string // "": the datacenter's own folder of virtual machines
	Datastore      string // "": the only one that can be used
	Networks       []string

	// VMGroup and HostGroup are the groups of a rule that keeps the virtual machine on certain hosts of ComputeCluster.
	VMGroup, HostGroup string
	// Name is the name of the virtual machine. It spreads machines that are placed on hosts of HostGroup explicitly.
	Name string
	// PoolIfThere falls back to the root pool of ComputeCluster if ResourcePool does not exist there.
	PoolIfThere bool
}

// Resolved is a Placement resolved to references.
type Resolved struct {
	DatacenterRef, ClusterRef, PoolRef, FolderRef, DatastoreRef string
	// HostRef is "" if vCenter chooses the host, because it enforces the rule between VMGroup and HostGroup or no rule is
	// requested.
	HostRef string
	// HostRefs are the hosts that may run the virtual machine.
	HostRefs []Ref
	// PoolMissed is why the root pool is used instead of Placement.ResourcePool, or "" if it is not.
	PoolMissed string

	Networks []NetworkBacking // in the order of Placement.Networks
}

// NetworkBacking holds what a network card needs to connect to its network.
type NetworkBacking struct {
	Ref, Name string

	PortgroupKey, SwitchUUID string
	OpaqueID, OpaqueType     string
}

// Resolve looks up what a placement names.
func Resolve(ix *Index, p Placement) (Resolved, error) {
	ix.RLock()
	defer ix.RUnlock()
	r, err := resolverOf(ix, p)
	if err != nil {
		return Resolved{}, err
	}
	pool, folder := r.pool(p), r.folder(p.Folder)
	r.narrow(p.HostGroup)
	datastore, networks := r.datastore(p.Datastore), r.networks(p.Networks)
	resolved := Resolved{
		DatacenterRef: r.dc.Ref.String(),
		PoolRef:       r.ref(pool),
		FolderRef:     r.ref(folder),
		DatastoreRef:  r.ref(datastore),
		Networks:      networks,
		HostRef:       r.ref(r.host(p, datastore, networks)),
		HostRefs:      r.hosts,
		PoolMissed:    r.poolMissed,
	}
	if resolved.HostRef != "" {
		resolved.HostRefs = []Ref{ParseRef("HostSystem", resolved.HostRef)}
	}
	if r.compute != nil {
		resolved.ClusterRef = r.compute.Ref.String()
	}
	if len(r.errs) > 0 {
		return Resolved{}, errors.Join(r.errs...)
	}
	return resolved, nil
}

// Template finds a template by instance UUID, inventory path or name.
func Template(ix *Index, datacenter, nameOrPathOrUUID string) (VM, error) {
	ix.RLock()
	defer ix.RUnlock()
	r, err := resolverOf(ix, Placement{Datacenter: datacenter})
	if err != nil {
		if found, byUUID := ix.ByInstanceUUID(nameOrPathOrUUID); byUUID { // needs no datacenter
			vm, _ := ix.VM(found)
			return vm, nil
		}
		return VM{}, err
	}
	found, err := r.template(nameOrPathOrUUID)
	if err != nil {
		return VM{}, err
	}
	vm, _ := ix.VM(found)
	return vm, nil
}

func (r *resolver) template(value string) (Ref, error) {
	if found, byUUID := r.ix.ByInstanceUUID(value); byUUID {
		return found, nil
	}
	found, err := r.find(KindVM, value, nil)
	if errors.Is(err, vcerrors.ErrNotFound) && strings.HasPrefix(value, "/") { // it may be in another datacenter
		if elsewhere, err := (&resolver{ix: r.ix}).find(KindVM, value, nil); err == nil {
			return elsewhere, nil
		}
	}
	if err != nil {
		r.ix.Missed.Note(value)
	}
	return found, err
}

// resolver looks up objects in one datacenter and collects the errors. The index is locked meanwhile.
type resolver struct {
	ix      *Index
	dc      *Entity
	compute *Entity // where virtual machines will run, if known
	hosts   []Ref   // candidate hosts: those of compute, or fewer
	hostsOf string  // description of what the hosts belong to

	poolMissed string // why the root pool is used instead of another
	errs       []error
}

// resolverOf looks up the datacenter and the compute cluster. Without a datacenter nothing else can be resolved.
func resolverOf(ix *Index, p Placement) (*resolver, error) {
	r := &resolver{ix: ix}
	dc, err := r.find(KindDatacenter, cmp.Or(p.Datacenter, "*"), nil)
	if err != nil {
		return nil, err
	}
	r.dc = ix.Entities[dc]
	if p.ComputeCluster == "" {
		return r, nil
	}
	if found := r.note(r.find(KindCompute, p.ComputeCluster, nil)); found != (Ref{}) {
		r.runsOn(ix.Entities[found])
	}
	return r, nil
}

func (r *resolver) runsOn(compute *Entity) {
	r.compute = compute
	if compute != nil {
		r.hosts, r.hostsOf = compute.Hosts, "compute cluster "+compute.Name
	}
}

// narrow reduces the hosts to those of a host group, if the group exists.
func (r *resolver) narrow(hostGroup string) (exists bool) {
	if r.compute == nil {
		return false
	}
	hosts, exists := r.compute.Groups.Hosts[hostGroup]
	if exists {
		r.hosts, r.hostsOf = hosts, "host group "+hostGroup
	}
	return exists
}

func (r *resolver) note(found Ref, err error) Ref {
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return found
}

func (r *resolver) ref(found Ref) string { return RefString(found) }

// pool also determines where virtual machines run if no compute cluster is named.
func (r *resolver) pool(p Placement) Ref {
	switch {
	case p.ResourcePool != "":
		return r.namedPool(p)
	case p.ComputeCluster == "":
		found, err := r.find(KindCompute, "*", nil)
		if err != nil {
			var lookup *vcerrors.LookupError
			if errors.As(err, &lookup) {
				err = &vcerrors.LookupError{Field: string(KindPool), Err: lookup.Err, Detail: "specify a resource pool or a compute cluster: " + lookup.Detail}
			}
			r.errs = append(r.errs, err)
			return Ref{}
		}
		r.runsOn(r.ix.Entities[found])
	}
	if r.compute == nil {
		return Ref{} // already recorded as an error
	}
	return r.compute.RootPool
}

func (r *resolver) namedPool(p Placement) Ref {
	found, err := r.find(KindPool, p.ResourcePool, func(pool Ref) string {
		if r.compute != nil && r.ix.Above(pool, KindCompute) != r.compute {
			return "not in compute cluster " + r.compute.Name
		}
		return ""
	})
	switch {
	case p.ComputeCluster == "":
		r.runsOn(r.ix.Above(found, KindCompute))
	case r.compute == nil && errors.Is(err, vcerrors.ErrAmbiguous):
		return Ref{} // the compute cluster was not found, which is already recorded
	case r.compute != nil && err != nil && p.PoolIfThere:
		r.poolMissed = err.Error()
		return r.compute.RootPool
	}
	return r.note(found, err)
}

func (r *resolver) folder(value string) Ref {
	if value == "" {
		return r.dc.VMFolder
	}
	return r.note(r.find(KindFolder, value, nil))
}

func (r *resolver) datastore(value string) Ref {
	return r.note(r.find(KindDatastore, cmp.Or(value, "*"), r.unusable))
}

// unusable returns why a datastore cannot be used, or "".
func (r *resolver) unusable(candidate Ref) string {
	store := r.ix.Entities[candidate]
	switch {
	case !store.Accessible:
		return "not accessible"
	case store.Maintenance:
		return "in maintenance mode"
	case r.compute != nil && !overlap(store.Hosts, r.hosts):
		return "not mounted on any host of " + r.hostsOf
	}
	return ""
}

func (r *resolver) networks(values []string) []NetworkBacking {
	var backings []NetworkBacking
	for _, value := range values {
		found := r.note(r.find(KindNetwork, value, func(candidate Ref) string {
			network := r.ix.Entities[candidate]
			if network.PortgroupKey != "" && r.backing(network).SwitchUUID == "" {
				return "a port group of a distributed switch that this account cannot read: give the account the privilege System.Read on the switch"
			}
			if r.compute != nil && !slices.Contains(r.compute.Networks, candidate) && !overlap(network.Hosts, r.hosts) {
				return "not connected to any host of " + r.hostsOf
			}
			return ""
		}))
		if found != (Ref{}) {
			backings = append(backings, r.backing(r.ix.Entities[found]))
		}
	}
	return backings
}

func overlap(a, b []Ref) bool {
	return slices.ContainsFunc(a, func(r Ref) bool { return slices.Contains(b, r) })
}

// backing returns what a network card needs to connect to a network.
func (r *resolver) backing(network *Entity) NetworkBacking {
	b := NetworkBacking{
		Ref: network.Ref.String(), Name: network.Name, PortgroupKey: network.PortgroupKey,
		OpaqueID: network.OpaqueID, OpaqueType: network.OpaqueType,
	}
	if owner, ok := r.ix.Entities[network.PortgroupSwitch]; ok {
		b.SwitchUUID = owner.SwitchUUID
	}
	return b
}
