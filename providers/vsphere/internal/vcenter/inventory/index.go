// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// Ref is a reference to an object of vCenter.
type Ref = types.ManagedObjectReference

// Index is the inventory as reported by the stream. Its lock is never held across a call.
type Index struct {
	mu       sync.RWMutex
	Entities map[Ref]*Entity
	VMs      map[Ref]*Machine
	tasks    map[Ref]Task
	names    multimap // kind and name -> entities
	waiting  map[Ref]chan Task

	vmNames         machines // the keys are strings of the records, so that their text is kept once
	instances, bios machines // by UUID in lower case
	details         map[Ref]Details
	detailsFilter   Ref
	shared          *Records // shared with other indexes

	incomplete []Ref // new virtual machines that still have to be read

	Missed missed
}

// NewIndex returns an empty index that shares equal records with the other indexes of shared.
func NewIndex(shared *Records) *Index {
	return &Index{
		Entities: map[Ref]*Entity{}, VMs: map[Ref]*Machine{}, tasks: map[Ref]Task{},
		names: multimap{}, waiting: map[Ref]chan Task{},
		vmNames: machines{}, instances: machines{}, bios: machines{}, details: map[Ref]Details{}, shared: shared,
	}
}

// RLock locks the index for reading. Until RUnlock the caller may read Entities and VMs, and call the functions that require
// the lock.
func (ix *Index) RLock() { ix.mu.RLock() }

// RUnlock releases the lock of RLock.
func (ix *Index) RUnlock() { ix.mu.RUnlock() }

// Close releases what the index shares with others. Callers that still hold the session continue to see its last state.
func (ix *Index) Close() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for r := range ix.VMs {
		ix.shared.release(r)
	}
	ix.shared = NewRecords(ix.shared.keep)
}

// Changes holds the effects of one response of the stream.
type Changes struct {
	VMs        []Machine   // as they are now, or as they were before they were deleted
	at         map[Ref]int // the index of each in VMs
	Tasks      []Task      // ended, or deleted before they ended
	Gone       []Ref       // virtual machines
	Configured []Machine   // machines with a configuration change in properties that are not followed
	Structural bool
	Tags       []string // names of the tags that were attached or detached; "" stands for any tag
}

func (c *Changes) vm(m *Machine) {
	at, seen := c.at[m.Ref]
	if seen {
		c.VMs[at] = *m
		return
	}
	if c.at == nil {
		c.at = map[Ref]int{}
	}
	c.at[m.Ref] = len(c.VMs)
	c.VMs = append(c.VMs, *m)
}

// Apply applies a response of the stream.
func (ix *Index) Apply(set *types.UpdateSet) Changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c Changes
	for _, filter := range set.FilterSet {
		for _, update := range filter.ObjectSet {
			if filter.Filter != (Ref{}) && filter.Filter == ix.detailsFilter {
				ix.applyDetails(update, &c)
			} else {
				ix.applyOne(update, &c)
			}
		}
	}
	return c
}

// ApplyAt applies what was read of an object at a revision, unless the stream has reported the object since.
func (ix *Index) ApplyAt(revision int, update types.ObjectUpdate) Changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c Changes
	if revision > 0 && ix.revisionOf(update.Obj) == revision { // an object that the stream does not show would never leave
		ix.applyOne(update, &c)
	}
	return c
}

// Sweep drops the objects that a complete response does not contain.
func (ix *Index) Sweep(seen map[Ref]struct{}) Changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c Changes
	for _, there := range [][]Ref{slices.Collect(maps.Keys(ix.Entities)), slices.Collect(maps.Keys(ix.VMs))} {
		for _, r := range there {
			if _, ok := seen[r]; !ok {
				ix.applyOne(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: r}, &c)
			}
		}
	}
	return c
}

// Revision returns how often an object was reported since it appeared.
func (ix *Index) Revision(r Ref) int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.revisionOf(r)
}

// Shows reports whether an entity is in the inventory.
func (ix *Index) Shows(r Ref) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	_, ok := ix.Entities[r]
	return ok
}

// revisionOf returns how often an object was reported since it appeared. The caller must hold the lock.
func (ix *Index) revisionOf(r Ref) int {
	if m, ok := ix.VMs[r]; ok {
		return m.revision
	}
	if e, ok := ix.Entities[r]; ok {
		return e.revision
	}
	return 0
}

func (ix *Index) applyOne(update types.ObjectUpdate, c *Changes) {
	gone := update.Kind == types.ObjectUpdateKindLeave
	switch {
	case update.Obj.Type == "Task":
		ix.applyTask(update, gone, c)
	case update.Obj.Type == "VirtualMachine" && gone:
		ix.dropVM(update.Obj, c)
	case update.Obj.Type == "VirtualMachine":
		ix.applyVM(update, c)
	case gone:
		ix.dropEntity(update.Obj)
		c.Structural = true
	case KindOf(update.Obj.Type) != "":
		ix.applyEntity(update, c)
	}
}

func (ix *Index) applyVM(update types.ObjectUpdate, c *Changes) {
	m, known := ix.VMs[update.Obj]
	if !known {
		m = &Machine{record: &record{Ref: update.Obj}}
	}
	before := m.record
	ix.unname(m)
	m.record = ix.shared.share(m.updated(update), !known)
	m.revision++
	if !known {
		ix.VMs[m.Ref] = m // its reference is the shared one
	}
	ix.vmNames.add(m.Name, m)
	ix.instances.add(strings.ToLower(m.InstanceUUID), m)
	ix.bios.add(strings.ToLower(m.BiosUUID), m)

	if !known || *before != *m.record {
		c.vm(m)
	}
	if m.Name != before.Name && ix.Missed.take(before.Name, m.Name) || m.InstanceUUID != before.InstanceUUID && ix.Missed.take(m.InstanceUUID) {
		c.Structural = true
	}
	if templateChanged(before, m.record) {
		c.Structural = true
	}
}

// templateChanged reports whether a template was added, removed, renamed or moved.
func templateChanged(before, after *record) bool {
	return after.Template != before.Template || before.Template && (before.Name != after.Name || before.Parent != after.Parent)
}

func (ix *Index) dropVM(gone Ref, c *Changes) {
	m, ok := ix.VMs[gone]
	if !ok {
		return
	}
	ix.unname(m)
	delete(ix.VMs, gone)
	ix.shared.release(gone)
	c.vm(m)
	c.Gone = append(c.Gone, gone)
	c.Structural = c.Structural || m.Template || m.InstanceUUID == "" || ix.Missed.take(m.Name)
}

func (ix *Index) unname(m *Machine) {
	ix.vmNames.remove(m.Name, m)
	ix.instances.remove(strings.ToLower(m.InstanceUUID), m)
	ix.bios.remove(strings.ToLower(m.BiosUUID), m)
}

func (ix *Index) applyEntity(update types.ObjectUpdate, c *Changes) {
	e, known := ix.Entities[update.Obj]
	if !known {
		e = &Entity{Ref: update.Obj}
		ix.Entities[update.Obj] = e
	}
	kind := KindOf(update.Obj.Type)
	for _, name := range e.names() {
		ix.names.remove(nameKey(kind, name), e.Ref)
	}
	before := *e
	e.revision++
	for _, change := range update.ChangeSet {
		e.set(change.Name, change.Val)
	}
	for _, name := range e.names() {
		ix.names.add(nameKey(kind, name), e.Ref)
	}
	if known {
		ix.membersChanged(before.Groups, e.Groups, c)
	}
	if !known || structureChanged(before, *e) {
		e.changes++
		c.Structural = true
	}
}

// structureChanged reports whether an entity changed. It ignores the members of VM groups, which change with every new machine.
func structureChanged(before, after Entity) bool {
	if !slices.Equal(slices.Sorted(maps.Keys(before.Groups.VMs)), slices.Sorted(maps.Keys(after.Groups.VMs))) {
		return true
	}
	before.Groups.VMs, after.Groups.VMs = nil, nil
	before.Groups.of, after.Groups.of = nil, nil // for hosts, Groups.Hosts is compared
	before.revision = after.revision
	return !reflect.DeepEqual(before, after)
}

// membersChanged reports the virtual machines that joined or left a group.
func (ix *Index) membersChanged(before, after groupSet, c *Changes) {
	report := func(from, to map[Ref][]string) {
		for member, groups := range from {
			if m, ok := ix.VMs[member]; ok && !slices.Equal(groups, to[member]) {
				c.vm(m)
			}
		}
	}
	report(before.of, after.of)
	report(after.of, before.of)
}

func (ix *Index) dropEntity(gone Ref) {
	e, ok := ix.Entities[gone]
	if !ok {
		return
	}
	for _, name := range e.names() {
		ix.names.remove(nameKey(KindOf(gone.Type), name), gone)
	}
	delete(ix.Entities, gone)
}

// multimap maps a key to the objects that share it, ordered by reference so that results are stable.
type multimap map[string][]Ref

func (m multimap) add(key string, r Ref) {
	at, found := slices.BinarySearchFunc(m[key], r, CompareRefs)
	if key != "" && !found {
		m[key] = slices.Insert(m[key], at, r)
	}
}

func (m multimap) remove(key string, r Ref) {
	at, found := slices.BinarySearchFunc(m[key], r, CompareRefs)
	if !found {
		return
	}
	if m[key] = slices.Delete(m[key], at, at+1); len(m[key]) == 0 {
		delete(m, key)
	}
}

// CompareRefs orders references.
func CompareRefs(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type))
}

func nameKey(kind Kind, name string) string {
	if name == "" {
		return ""
	}
	return string(kind) + "/" + name
}

// machines maps a key to the virtual machines that share it, ordered by reference.
type machines map[string][]*Machine

func (m machines) add(key string, one *Machine) {
	at, found := slices.BinarySearchFunc(m[key], one, compareMachines)
	if key == "" || found {
		return
	}
	if len(m[key]) == 0 {
		m[key] = []*Machine{one} // nearly all keys have one: allocate no spare capacity
		return
	}
	m[key] = slices.Insert(m[key], at, one)
}

func (m machines) remove(key string, one *Machine) {
	at, found := slices.BinarySearchFunc(m[key], one, compareMachines)
	if !found {
		return
	}
	if m[key] = slices.Delete(m[key], at, at+1); len(m[key]) == 0 {
		delete(m, key)
	}
}

func compareMachines(a, b *Machine) int { return CompareRefs(a.Ref, b.Ref) }

func refsOf(all []*Machine) []Ref {
	refs := make([]Ref, len(all))
	for i, m := range all {
		refs[i] = m.Ref
	}
	return refs
}

// Named returns the objects with a name. The caller must hold the lock.
func (ix *Index) Named(k Kind, name string) []Ref {
	if k == KindVM {
		return refsOf(ix.vmNames[name])
	}
	return ix.names[nameKey(k, name)]
}

// ChangesOf counts the changes of objects since the session began, including those of a compute cluster's hosts.
func (ix *Index) ChangesOf(refs ...string) int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	count := 0
	for _, each := range refs {
		e, ok := ix.Entities[ParseRef("", each)]
		if !ok {
			continue
		}
		count += e.changes
		if KindOf(e.Ref.Type) != KindCompute {
			continue
		}
		for _, host := range e.Hosts {
			if h, ok := ix.Entities[host]; ok {
				count += h.changes
			}
		}
	}
	return count
}

// Note adds the reported objects to seen. It ignores details, which can belong to objects outside of the inventory.
func (ix *Index) Note(seen map[Ref]struct{}, set *types.UpdateSet) {
	for _, filter := range set.FilterSet {
		if filter.Filter != (Ref{}) && filter.Filter == ix.detailsFilter {
			continue
		}
		for _, update := range filter.ObjectSet {
			seen[update.Obj] = struct{}{}
		}
	}
}
