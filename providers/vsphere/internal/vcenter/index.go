// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

type ref = types.ManagedObjectReference

// index is the inventory as the stream reported it. Its lock is never held across a call.
type index struct {
	mu       sync.RWMutex
	entities map[ref]*entity
	vms      map[ref]*machine
	tasks    map[ref]Task
	names    multimap // kind and name -> entities
	waiting  map[ref]chan Task

	vmNames         machines // as in the record, so that its text is kept once
	instances, bios machines // by UUID in lower case
	details         map[ref]details
	detailsFilter   ref
	shared          *records

	incomplete []ref // new virtual machines that are to be read

	missed missed
}

func newIndex(shared *records) *index {
	return &index{
		entities: map[ref]*entity{}, vms: map[ref]*machine{}, tasks: map[ref]Task{},
		names: multimap{}, waiting: map[ref]chan Task{},
		vmNames: machines{}, instances: machines{}, bios: machines{}, details: map[ref]details{}, shared: shared,
	}
}

// close lets go of what the index shares with others. Who still has the session goes on to see what it has shown.
func (ix *index) close() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for r := range ix.vms {
		ix.shared.release(r)
	}
	ix.shared = newRecords(ix.shared.keep)
}

// changes is what one answer of the stream meant.
type changes struct {
	vms        []machine   // as they are now, or were before they went
	at         map[ref]int // where each of vms is
	tasks      []Task      // done, or gone before they were
	gone       []ref       // virtual machines
	structural bool
}

func (c *changes) vm(m *machine) {
	at, seen := c.at[m.ref]
	if seen {
		c.vms[at] = *m
		return
	}
	if c.at == nil {
		c.at = map[ref]int{}
	}
	c.at[m.ref] = len(c.vms)
	c.vms = append(c.vms, *m)
}

// apply takes over an answer of the stream.
func (ix *index) apply(set *types.UpdateSet) changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c changes
	for _, filter := range set.FilterSet {
		for _, update := range filter.ObjectSet {
			if filter.Filter != (ref{}) && filter.Filter == ix.detailsFilter {
				ix.applyDetails(update, &c)
			} else {
				ix.applyOne(update, &c)
			}
		}
	}
	return c
}

// applyAt takes over what was read of an object that had this revision, unless the stream has reported it since.
func (ix *index) applyAt(revision int, update types.ObjectUpdate) changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c changes
	if revision > 0 && ix.revisionOf(update.Obj) == revision { // what the stream does not show would never leave
		ix.applyOne(update, &c)
	}
	return c
}

// sweep drops what an answer that shows everything has not shown.
func (ix *index) sweep(seen map[ref]struct{}) changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c changes
	for _, there := range [][]ref{slices.Collect(maps.Keys(ix.entities)), slices.Collect(maps.Keys(ix.vms))} {
		for _, r := range there {
			if _, ok := seen[r]; !ok {
				ix.applyOne(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: r}, &c)
			}
		}
	}
	return c
}

func (ix *index) revision(r ref) int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.revisionOf(r)
}

// shows reports whether an object of the inventory is there.
func (ix *index) shows(r ref) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	_, ok := ix.entities[r]
	return ok
}

// revisionOf is how often an object was reported since it came. The lock is held.
func (ix *index) revisionOf(r ref) int {
	if m, ok := ix.vms[r]; ok {
		return m.revision
	}
	if e, ok := ix.entities[r]; ok {
		return e.revision
	}
	return 0
}

func (ix *index) applyOne(update types.ObjectUpdate, c *changes) {
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
		c.structural = true
	case kindOf(update.Obj.Type) != "":
		ix.applyEntity(update, c)
	}
}

func (ix *index) applyVM(update types.ObjectUpdate, c *changes) {
	m, known := ix.vms[update.Obj]
	if !known {
		m = &machine{record: &record{ref: update.Obj}}
	}
	before := m.record
	ix.unname(m)
	m.record = ix.shared.share(m.updated(update), !known)
	m.revision++
	if !known {
		ix.vms[m.ref] = m // whose reference is the shared one
	}
	ix.vmNames.add(m.name, m)
	ix.instances.add(strings.ToLower(m.instanceUUID), m)
	ix.bios.add(strings.ToLower(m.biosUUID), m)

	if !known || *before != *m.record {
		c.vm(m)
	}
	if m.name != before.name && ix.missed.take(before.name, m.name) || m.instanceUUID != before.instanceUUID && ix.missed.take(m.instanceUUID) {
		c.structural = true
	}
	if templateChanged(before, m.record) {
		c.structural = true
	}
}

// templateChanged reports whether a template came or went, or is found by another name.
func templateChanged(before, after *record) bool {
	return after.template != before.template || before.template && (before.name != after.name || before.parent != after.parent)
}

func (ix *index) dropVM(gone ref, c *changes) {
	m, ok := ix.vms[gone]
	if !ok {
		return
	}
	ix.unname(m)
	delete(ix.vms, gone)
	ix.shared.release(gone)
	c.vm(m)
	c.gone = append(c.gone, gone)
	c.structural = c.structural || m.template || m.instanceUUID == "" || ix.missed.take(m.name)
}

func (ix *index) unname(m *machine) {
	ix.vmNames.remove(m.name, m)
	ix.instances.remove(strings.ToLower(m.instanceUUID), m)
	ix.bios.remove(strings.ToLower(m.biosUUID), m)
}

func (ix *index) applyEntity(update types.ObjectUpdate, c *changes) {
	e, known := ix.entities[update.Obj]
	if !known {
		e = &entity{ref: update.Obj}
		ix.entities[update.Obj] = e
	}
	kind := kindOf(update.Obj.Type)
	for _, name := range e.names() {
		ix.names.remove(nameKey(kind, name), e.ref)
	}
	before := *e
	e.revision++
	for _, change := range update.ChangeSet {
		e.set(change.Name, change.Val)
	}
	for _, name := range e.names() {
		ix.names.add(nameKey(kind, name), e.ref)
	}
	if known {
		ix.membersChanged(before.groups, e.groups, c)
	}
	if !known || structureChanged(before, *e) {
		e.changes++
		c.structural = true
	}
}

// structureChanged leaves aside who is in a group of virtual machines: that changes whenever one is made.
func structureChanged(before, after entity) bool {
	if !slices.Equal(slices.Sorted(maps.Keys(before.groups.vms)), slices.Sorted(maps.Keys(after.groups.vms))) {
		return true
	}
	before.groups.vms, after.groups.vms = nil, nil
	before.groups.of, after.groups.of = nil, nil // of hosts, groups.hosts tells
	before.revision = after.revision
	return !reflect.DeepEqual(before, after)
}

// membersChanged reports the virtual machines that joined or left a group.
func (ix *index) membersChanged(before, after groupSet, c *changes) {
	report := func(from, to map[ref][]string) {
		for member, groups := range from {
			if m, ok := ix.vms[member]; ok && !slices.Equal(groups, to[member]) {
				c.vm(m)
			}
		}
	}
	report(before.of, after.of)
	report(after.of, before.of)
}

func (ix *index) dropEntity(gone ref) {
	e, ok := ix.entities[gone]
	if !ok {
		return
	}
	for _, name := range e.names() {
		ix.names.remove(nameKey(kindOf(gone.Type), name), gone)
	}
	delete(ix.entities, gone)
}

// multimap finds the objects that share a key. The order is that of the references, so that answers do not vary.
type multimap map[string][]ref

func (m multimap) add(key string, r ref) {
	at, found := slices.BinarySearchFunc(m[key], r, compareRefs)
	if key != "" && !found {
		m[key] = slices.Insert(m[key], at, r)
	}
}

func (m multimap) remove(key string, r ref) {
	at, found := slices.BinarySearchFunc(m[key], r, compareRefs)
	if !found {
		return
	}
	if m[key] = slices.Delete(m[key], at, at+1); len(m[key]) == 0 {
		delete(m, key)
	}
}

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Type, b.Type))
}

func nameKey(kind kind, name string) string {
	if name == "" {
		return ""
	}
	return string(kind) + "/" + name
}

// machines finds the virtual machines that share a key, in the order of their references.
type machines map[string][]*machine

func (m machines) add(key string, one *machine) {
	at, found := slices.BinarySearchFunc(m[key], one, compareMachines)
	if key == "" || found {
		return
	}
	if len(m[key]) == 0 {
		m[key] = []*machine{one} // of nearly all there is one: no room for more
		return
	}
	m[key] = slices.Insert(m[key], at, one)
}

func (m machines) remove(key string, one *machine) {
	at, found := slices.BinarySearchFunc(m[key], one, compareMachines)
	if !found {
		return
	}
	if m[key] = slices.Delete(m[key], at, at+1); len(m[key]) == 0 {
		delete(m, key)
	}
}

func compareMachines(a, b *machine) int { return compareRefs(a.ref, b.ref) }

func refsOf(all []*machine) []ref {
	refs := make([]ref, len(all))
	for i, m := range all {
		refs[i] = m.ref
	}
	return refs
}

// named returns the objects of a name. The lock is held.
func (ix *index) named(k kind, name string) []ref {
	if k == kindVM {
		return refsOf(ix.vmNames[name])
	}
	return ix.names[nameKey(k, name)]
}
