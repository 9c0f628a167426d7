// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// find returns the one object that a value names. unfit says why a candidate cannot be used, or "".
func (r *resolver) find(k kind, value string, unfit func(ref) string) (ref, error) {
	var fit []ref
	var why []string
	for _, candidate := range r.candidates(k, value) {
		reason := ""
		if unfit != nil {
			reason = unfit(candidate)
		}
		if reason == "" {
			fit = append(fit, candidate)
		} else {
			why = append(why, fmt.Sprintf("%s is %s", r.ix.fullPath(candidate), reason))
		}
	}
	failure := &LookupError{Field: string(k), Value: value}
	if value == "*" { // stands for none
		failure.Value = ""
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		failure.Err, failure.Detail = ErrAmbiguous, fmt.Sprintf("name one of %s", r.list(fit))
	case len(why) > 0:
		slices.Sort(why)
		failure.Err, failure.Detail = ErrInvalid, strings.Join(why[:min(len(why), maxListed)], ", ")
	default:
		failure.Err, failure.Detail = ErrNotFound, r.choices(k)
	}
	return ref{}, failure
}

// candidates returns what a value may mean in the datacenter: objects of that name, which may contain slashes, else those
// that have it for their path, else those that match it as a pattern.
func (r *resolver) candidates(k kind, value string) []ref {
	found := r.among(k, r.ix.named(k, value), func(ref) bool { return true })
	if len(found) > 1 && k == kindFolder {
		found = r.topmost(found)
	}
	isPath := strings.Contains(value, "/")
	absolute := r.absolute(k, value)
	if len(found) == 0 && isPath {
		found = r.among(k, r.ix.named(k, path.Base(value)), func(candidate ref) bool {
			full := r.ix.fullPath(candidate)
			return absolute == full || absolute == unescape(full)
		})
	}
	if len(found) == 0 && strings.ContainsAny(value, "*?[") {
		found = r.among(k, r.all(k), func(candidate ref) bool {
			target, pattern := r.ix.nameOf(candidate), value
			if isPath {
				target, pattern = r.ix.fullPath(candidate), absolute
			}
			matches, err := path.Match(pattern, target)
			return err == nil && matches
		})
	}
	return found
}

// topmost prefers the datacenter's own folder and those directly in it, which need no path to be named.
func (r *resolver) topmost(folders []ref) []ref {
	for _, folder := range folders {
		if folder == r.dc.vmFolder || r.ix.entities[folder].parent == r.dc.vmFolder {
			return []ref{folder}
		}
	}
	return folders
}

func (r *resolver) among(k kind, pool []ref, is func(ref) bool) []ref {
	var found []ref
	for _, candidate := range pool {
		if r.inScope(k, candidate) && is(candidate) {
			found = append(found, candidate)
		}
	}
	return found
}

// absolute completes a path that starts below the datacenter's own folder for objects of a kind.
func (r *resolver) absolute(k kind, value string) string {
	if r.dc == nil {
		return absolute("/", value)
	}
	return absolute(path.Join(r.ix.path(r.dc.ref), top(k)), value)
}

func absolute(folder, value string) string {
	if strings.HasPrefix(value, "/") {
		return path.Clean(value)
	}
	return path.Join(folder, value)
}

// RefersToDatacenter reports whether a Placement's datacenter may mean the one at an inventory path.
func RefersToDatacenter(value, inventoryPath string) bool {
	return refers(cmp.Or(value, "*"), inventoryPath, "/")
}

// RefersToCluster reports whether a Placement's compute cluster may mean the one at an inventory path, in a datacenter.
func RefersToCluster(value, inventoryPath, datacenter string) bool {
	return refers(value, inventoryPath, path.Join(datacenter, top(kindCompute)))
}

// refers reads a value as candidates does: a name, a path from the root or from a folder, or a pattern of either.
func refers(value, inventoryPath, folder string) bool {
	if inventoryPath == "" {
		return false
	}
	pattern, target := value, path.Base(inventoryPath)
	if value == target || value == unescape(target) {
		return true
	}
	if strings.Contains(value, "/") {
		pattern, target = absolute(folder, value), inventoryPath
		if pattern == target || pattern == unescape(target) {
			return true
		}
	}
	matches, err := path.Match(pattern, target)
	return err == nil && matches
}

// top is the name of a datacenter's own folder for objects of a kind.
func top(k kind) string {
	switch k {
	case kindFolder, kindVM:
		return "vm"
	case kindCompute, kindPool, kindHost:
		return "host"
	}
	return string(k)
}

func (r *resolver) inScope(k kind, candidate ref) bool {
	if r.dc == nil {
		return true
	}
	if k == kindVM {
		candidate = r.ix.vms[candidate].parent
	}
	if r.ix.above(candidate, kindDatacenter) != r.dc {
		return false
	}
	if k != kindFolder {
		return true
	}
	for e := r.ix.entities[candidate]; e != nil; e = r.ix.entities[e.parent] {
		if e.ref == r.dc.vmFolder {
			return true
		}
	}
	return false
}

// all lists the objects of a kind, in no order: there may be tens of thousands of virtual machines, and the index is locked.
func (r *resolver) all(k kind) []ref {
	var found []ref
	if k == kindVM {
		for candidate := range r.ix.vms {
			found = append(found, candidate)
		}
		return found
	}
	for candidate := range r.ix.entities {
		if kindOf(candidate.Type) == k {
			found = append(found, candidate)
		}
	}
	return found
}

// templates lists what is meant to be cloned.
func (r *resolver) templates() []ref {
	var found []ref
	for candidate, m := range r.ix.vms {
		if m.template {
			found = append(found, candidate)
		}
	}
	return found
}

const maxListed = 5

// choices lists what a field could have named.
func (r *resolver) choices(k kind) string {
	var there []ref
	if k == kindVM {
		there = r.among(k, r.templates(), func(ref) bool { return true })
	} else {
		there = r.among(k, r.all(k), func(ref) bool { return true })
	}
	where := "vCenter"
	if r.dc != nil {
		where = "datacenter " + r.dc.name
	}
	if len(there) == 0 {
		return where + " shows none to this account"
	}
	return fmt.Sprintf("%s has %s", where, r.list(there))
}

func (r *resolver) list(refs []ref) string {
	var paths []string
	for _, each := range refs {
		paths = append(paths, r.ix.fullPath(each))
	}
	slices.Sort(paths)
	if len(paths) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxListed], ", "), len(paths)-maxListed)
	}
	return strings.Join(paths, ", ")
}

// Changes counts the changes of objects of the inventory since the session began, those of a compute cluster's hosts
// included. Who joins a group of virtual machines is none.
func (s *Session) Changes(refs ...string) int {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	count := 0
	for _, each := range refs {
		e, ok := s.index.entities[parseRef("", each)]
		if !ok {
			continue
		}
		count += e.changes
		if kindOf(e.ref.Type) != kindCompute {
			continue
		}
		for _, host := range e.hosts {
			if h, ok := s.index.entities[host]; ok {
				count += h.changes
			}
		}
	}
	return count
}

func (ix *index) nameOf(r ref) string {
	if m, ok := ix.vms[r]; ok {
		return m.name
	}
	return ix.entities[r].name
}

func (ix *index) fullPath(r ref) string {
	if m, ok := ix.vms[r]; ok {
		return ix.path(m.parent) + "/" + m.name
	}
	return ix.path(r)
}
