// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// find returns the one object that a value names. unfit returns why a candidate cannot be used, or "".
func (r *resolver) find(k Kind, value string, unfit func(Ref) string) (Ref, error) {
	var fit []Ref
	var why []string
	for _, candidate := range r.candidates(k, value) {
		reason := ""
		if unfit != nil {
			reason = unfit(candidate)
		}
		if reason == "" {
			fit = append(fit, candidate)
		} else {
			why = append(why, fmt.Sprintf("%s is %s", r.ix.FullPath(candidate), reason))
		}
	}
	failure := &vcerrors.LookupError{Field: string(k), Value: value}
	if value == "*" { // stands for an empty value
		failure.Value = ""
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		failure.Err, failure.Detail = vcerrors.ErrAmbiguous, fmt.Sprintf("use one of %s", r.list(fit))
	case len(why) > 0:
		slices.Sort(why)
		failure.Err, failure.Detail = vcerrors.ErrInvalid, strings.Join(why[:min(len(why), maxListed)], ", ")
	default:
		failure.Err, failure.Detail = vcerrors.ErrNotFound, r.choices(k)
	}
	return Ref{}, failure
}

// candidates returns the objects of the datacenter that a value can name: objects with that name, which may contain slashes;
// else those with that path; else those that match it as a pattern; else the one with that managed object reference. A resource
// pool may also be named by its compute cluster, whose root pool it then is.
func (r *resolver) candidates(k Kind, value string) []Ref {
	found := r.among(k, r.ix.Named(k, value), func(Ref) bool { return true })
	if len(found) > 1 && k == KindFolder {
		found = r.topmost(found)
	}
	if len(found) == 0 && strings.Contains(value, "/") {
		found = r.byPath(k, value)
	}
	if len(found) == 0 && strings.ContainsAny(value, "*?[") {
		found = r.byPattern(k, value)
	}
	if len(found) == 0 {
		found = r.among(k, r.byReference(k, value), func(Ref) bool { return true })
	}
	if len(found) == 0 && k == KindPool {
		found = r.rootPools(value)
	}
	return found
}

// byPath returns the object with a path, which may be relative to the datacenter's own folder for objects of the kind, or else
// to the datacenter.
func (r *resolver) byPath(k Kind, value string) []Ref {
	named, absolute := r.ix.Named(k, path.Base(value)), r.absolute(k, value)
	found := r.among(k, named, func(candidate Ref) bool {
		full := r.ix.FullPath(candidate)
		return absolute == full || absolute == Unescape(full)
	})
	if len(found) > 0 || r.dc == nil {
		return found
	}
	fromDatacenter := path.Join(r.ix.Path(r.dc.Ref), value)
	return r.among(k, named, func(candidate Ref) bool { return fromDatacenter == r.ix.FullPath(candidate) })
}

// byPattern returns the objects whose name or path matches.
func (r *resolver) byPattern(k Kind, value string) []Ref {
	isPath, absolute := strings.Contains(value, "/"), r.absolute(k, value)
	return r.among(k, r.all(k), func(candidate Ref) bool {
		target, pattern := r.ix.NameOf(candidate), value
		if isPath {
			target, pattern = r.ix.FullPath(candidate), absolute
		}
		matches, err := path.Match(pattern, target)
		return err == nil && matches
	})
}

// rootPools returns the root pools of the compute clusters that a value can name.
func (r *resolver) rootPools(value string) []Ref {
	var found []Ref
	for _, cluster := range r.candidates(KindCompute, value) {
		found = append(found, r.ix.Entities[cluster].RootPool)
	}
	return found
}

// byReference returns the object with a managed object reference, such as ResourcePool:resgroup-16.
func (r *resolver) byReference(k Kind, value string) []Ref {
	ref := Ref{}
	if !ref.FromString(value) {
		return nil
	}
	if _, known := r.ix.VMs[ref]; known && k == KindVM {
		return []Ref{ref}
	}
	if _, known := r.ix.Entities[ref]; known && KindOf(ref.Type) == k {
		return []Ref{ref}
	}
	return nil
}

// topmost prefers the datacenter's own folder and its direct children, which can be named without a path.
func (r *resolver) topmost(folders []Ref) []Ref {
	for _, folder := range folders {
		if folder == r.dc.VMFolder || r.ix.Entities[folder].Parent == r.dc.VMFolder {
			return []Ref{folder}
		}
	}
	return folders
}

func (r *resolver) among(k Kind, pool []Ref, is func(Ref) bool) []Ref {
	var found []Ref
	for _, candidate := range pool {
		if r.inScope(k, candidate) && is(candidate) {
			found = append(found, candidate)
		}
	}
	return found
}

// absolute completes a path that is relative to the datacenter's own folder for objects of a kind.
func (r *resolver) absolute(k Kind, value string) string {
	if r.dc == nil {
		return absolute("/", value)
	}
	return absolute(path.Join(r.ix.Path(r.dc.Ref), top(k)), value)
}

func absolute(folder, value string) string {
	if strings.HasPrefix(value, "/") {
		return path.Clean(value)
	}
	return path.Join(folder, value)
}

// RefersToDatacenter reports whether a Placement's datacenter can refer to the datacenter at an inventory path.
func RefersToDatacenter(value, inventoryPath string) bool {
	return refers(cmp.Or(value, "*"), inventoryPath, "/")
}

// RefersToCluster reports whether a Placement's compute cluster can refer to the compute cluster at an inventory path in a
// datacenter.
func RefersToCluster(value, inventoryPath, datacenter string) bool {
	return refers(value, inventoryPath, path.Join(datacenter, top(KindCompute)))
}

// refers interprets a value as candidates does: a name, a path from the root or from a folder, or a pattern of either.
func refers(value, inventoryPath, folder string) bool {
	if inventoryPath == "" {
		return false
	}
	pattern, target := value, path.Base(inventoryPath)
	if value == target || value == Unescape(target) {
		return true
	}
	if strings.Contains(value, "/") {
		pattern, target = absolute(folder, value), inventoryPath
		if pattern == target || pattern == Unescape(target) {
			return true
		}
	}
	matches, err := path.Match(pattern, target)
	return err == nil && matches
}

// top returns the name of a datacenter's own folder for objects of a kind.
func top(k Kind) string {
	switch k {
	case KindFolder, KindVM:
		return "vm"
	case KindCompute, KindPool, KindHost:
		return "host"
	}
	return string(k)
}

func (r *resolver) inScope(k Kind, candidate Ref) bool {
	if r.dc == nil {
		return true
	}
	if k == KindVM {
		candidate = r.ix.VMs[candidate].Parent
	}
	if r.ix.Above(candidate, KindDatacenter) != r.dc {
		return false
	}
	if k != KindFolder {
		return true
	}
	for e := r.ix.Entities[candidate]; e != nil; e = r.ix.Entities[e.Parent] {
		if e.Ref == r.dc.VMFolder {
			return true
		}
	}
	return false
}

// all lists the objects of a kind, unordered: there may be tens of thousands of virtual machines, and the index is locked.
func (r *resolver) all(k Kind) []Ref {
	var found []Ref
	if k == KindVM {
		for candidate := range r.ix.VMs {
			found = append(found, candidate)
		}
		return found
	}
	for candidate := range r.ix.Entities {
		if KindOf(candidate.Type) == k {
			found = append(found, candidate)
		}
	}
	return found
}

// templates lists the templates.
func (r *resolver) templates() []Ref {
	var found []Ref
	for candidate, m := range r.ix.VMs {
		if m.Template {
			found = append(found, candidate)
		}
	}
	return found
}

const maxListed = 5

// choices lists the values that a field could have named.
func (r *resolver) choices(k Kind) string {
	var there []Ref
	if k == KindVM {
		there = r.among(k, r.templates(), func(Ref) bool { return true })
	} else {
		there = r.among(k, r.all(k), func(Ref) bool { return true })
	}
	where := "vCenter"
	if r.dc != nil {
		where = "datacenter " + r.dc.Name
	}
	if len(there) == 0 {
		return where + " has none that is visible to this account"
	}
	return fmt.Sprintf("%s has %s", where, r.list(there))
}

func (r *resolver) list(refs []Ref) string {
	var paths []string
	for _, each := range refs {
		paths = append(paths, r.ix.FullPath(each))
	}
	slices.Sort(paths)
	if len(paths) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxListed], ", "), len(paths)-maxListed)
	}
	return strings.Join(paths, ", ")
}
