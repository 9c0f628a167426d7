// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Placement says where a virtual machine shall go, in names or inventory paths.
//
// A value with a slash is a path: from the root, or below the datacenter's own folder of that kind ("vm", "host",
// "datastore", "network"). A value without one is a name anywhere in the datacenter. Shell patterns are allowed.
type Placement struct {
	Datacenter     string // "" or "*": the only one
	ComputeCluster string
	ResourcePool   string // "": the root pool of ComputeCluster, or of the only one there is
	Folder         string // "": the datacenter's own folder of virtual machines
	Datastore      string // "": the only one that can be used
	Networks       []string

	// VMGroup and HostGroup are the groups of a rule that keeps the virtual machine on certain hosts of ComputeCluster.
	VMGroup, HostGroup string
	// Name of the virtual machine spreads those that are put on hosts of HostGroup explicitly.
	Name string
}

// Resolved is a Placement in references.
type Resolved struct {
	DatacenterRef, ClusterRef, PoolRef, FolderRef, DatastoreRef string
	// HostRef is "" where vCenter chooses: it keeps to the rule between VMGroup and HostGroup by itself, or none is asked for.
	HostRef string

	Networks []NetworkBacking // in the order of Placement.Networks
}

// NetworkBacking is what a network card needs to know of its network.
type NetworkBacking struct {
	Ref, Name string

	portgroupKey, switchUUID string
	opaqueID, opaqueType     string
}

// Resolve finds what a placement names, without a call. Its error joins one *LookupError for each field that is wrong.
func (s *Session) Resolve(p Placement) (Resolved, error) {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	r, err := s.index.resolver(p)
	if err != nil {
		return Resolved{}, err
	}
	pool, folder := r.pool(p), r.folder(p.Folder)
	r.narrow(p.HostGroup)
	datastore, networks := r.datastore(p.Datastore), r.networks(p.Networks)
	resolved := Resolved{
		DatacenterRef: r.dc.ref.String(),
		PoolRef:       r.ref(pool),
		FolderRef:     r.ref(folder),
		DatastoreRef:  r.ref(datastore),
		Networks:      networks,
		HostRef:       r.ref(r.host(p, datastore, networks)),
	}
	if r.compute != nil {
		resolved.ClusterRef = r.compute.ref.String()
	}
	if len(r.errs) > 0 {
		return Resolved{}, errors.Join(r.errs...)
	}
	return resolved, nil
}

// Template finds what to clone by instance UUID, inventory path or name. It may be a plain virtual machine, and with a path
// from the root lie in another datacenter. When it is not found, an InventoryChanged event follows once that may have
// changed.
func (s *Session) Template(datacenter, nameOrPathOrUUID string) (VM, error) {
	ix := s.index
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	r, err := ix.resolver(Placement{Datacenter: datacenter})
	if err != nil {
		if found, byUUID := ix.byInstanceUUID(nameOrPathOrUUID); byUUID { // which needs no datacenter
			vm, _ := ix.vm(found)
			return vm, nil
		}
		return VM{}, err
	}
	found, err := r.template(nameOrPathOrUUID)
	if err != nil {
		return VM{}, err
	}
	vm, _ := ix.vm(found)
	return vm, nil
}

func (r *resolver) template(value string) (ref, error) {
	if found, byUUID := r.ix.byInstanceUUID(value); byUUID {
		return found, nil
	}
	found, err := r.find(kindVM, value, nil)
	if errors.Is(err, ErrNotFound) && strings.HasPrefix(value, "/") { // it may lie in another datacenter
		if elsewhere, err := (&resolver{ix: r.ix}).find(kindVM, value, nil); err == nil {
			return elsewhere, nil
		}
	}
	if err != nil {
		r.ix.missed.note(value)
	}
	return found, err
}

func (ix *index) byInstanceUUID(uuid string) (ref, bool) {
	found := ix.instances[strings.ToLower(uuid)]
	if len(found) == 0 {
		return ref{}, false
	}
	return found[0].ref, true
}

// resolver looks objects up in one datacenter and collects what is wrong. The index is locked meanwhile.
type resolver struct {
	ix      *index
	dc      *entity
	compute *entity // where virtual machines shall run, when that is known
	hosts   []ref   // where exactly: those of compute, or fewer
	hostsOf string  // what these are the hosts of
	errs    []error
}

// resolver starts with the datacenter and the compute cluster. Without a datacenter nothing else can be said.
func (ix *index) resolver(p Placement) (*resolver, error) {
	r := &resolver{ix: ix}
	dc, err := r.find(kindDatacenter, cmp.Or(p.Datacenter, "*"), nil)
	if err != nil {
		return nil, err
	}
	r.dc = ix.entities[dc]
	if p.ComputeCluster == "" {
		return r, nil
	}
	if found := r.note(r.find(kindCompute, p.ComputeCluster, nil)); found != (ref{}) {
		r.runsOn(ix.entities[found])
	}
	return r, nil
}

func (r *resolver) runsOn(compute *entity) {
	r.compute = compute
	if compute != nil {
		r.hosts, r.hostsOf = compute.hosts, "compute cluster "+compute.name
	}
}

// narrow leaves of the hosts those of a host group, if there is such a group.
func (r *resolver) narrow(hostGroup string) (exists bool) {
	if r.compute == nil {
		return false
	}
	hosts, exists := r.compute.groups.hosts[hostGroup]
	if exists {
		r.hosts, r.hostsOf = hosts, "host group "+hostGroup
	}
	return exists
}

func (r *resolver) note(found ref, err error) ref {
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return found
}

func (r *resolver) ref(found ref) string { return refString(found) }

// pool also settles where virtual machines run if no compute cluster was named.
func (r *resolver) pool(p Placement) ref {
	switch {
	case p.ResourcePool != "":
		found, err := r.find(kindPool, p.ResourcePool, func(pool ref) string {
			if r.compute != nil && r.ix.above(pool, kindCompute) != r.compute {
				return "in another compute cluster than " + r.compute.name
			}
			return ""
		})
		switch {
		case p.ComputeCluster == "":
			r.runsOn(r.ix.above(found, kindCompute))
		case r.compute == nil && errors.Is(err, ErrAmbiguous):
			return ref{} // the cluster, whose absence has been noted, would have told
		}
		return r.note(found, err)
	case p.ComputeCluster == "":
		found, err := r.find(kindCompute, "*", nil)
		if err != nil {
			var lookup *LookupError
			if errors.As(err, &lookup) {
				err = &LookupError{string(kindPool), "", lookup.Err, "name a resource pool or a compute cluster: " + lookup.Detail}
			}
			r.errs = append(r.errs, err)
			return ref{}
		}
		r.runsOn(r.ix.entities[found])
	}
	if r.compute == nil {
		return ref{} // has been noted
	}
	return r.compute.rootPool
}

func (r *resolver) folder(value string) ref {
	if value == "" {
		return r.dc.vmFolder
	}
	return r.note(r.find(kindFolder, value, nil))
}

func (r *resolver) datastore(value string) ref {
	return r.note(r.find(kindDatastore, cmp.Or(value, "*"), func(candidate ref) string {
		store := r.ix.entities[candidate]
		switch {
		case !store.accessible:
			return "not accessible"
		case store.maintenance:
			return "in maintenance mode"
		case r.compute != nil && !overlap(store.hosts, r.hosts):
			return "not mounted on any host of " + r.hostsOf
		}
		return ""
	}))
}

func (r *resolver) networks(values []string) []NetworkBacking {
	var backings []NetworkBacking
	for _, value := range values {
		found := r.note(r.find(kindNetwork, value, func(candidate ref) string {
			network := r.ix.entities[candidate]
			if network.portgroupKey != "" && r.ix.backing(network).switchUUID == "" {
				return "a port group of a distributed switch that this account cannot read: give it the privilege System.Read on the switch"
			}
			if r.compute != nil && !slices.Contains(r.compute.networks, candidate) && !overlap(network.hosts, r.hosts) {
				return "not connected to any host of " + r.hostsOf
			}
			return ""
		}))
		if found != (ref{}) {
			backings = append(backings, r.ix.backing(r.ix.entities[found]))
		}
	}
	return backings
}

func overlap(a, b []ref) bool {
	return slices.ContainsFunc(a, func(r ref) bool { return slices.Contains(b, r) })
}

func (ix *index) backing(network *entity) NetworkBacking {
	b := NetworkBacking{
		Ref: network.ref.String(), Name: network.name, portgroupKey: network.portgroupKey,
		opaqueID: network.opaqueID, opaqueType: network.opaqueType,
	}
	if owner, ok := ix.entities[network.portgroupSwitch]; ok {
		b.switchUUID = owner.switchUUID
	}
	return b
}
