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
	names    multimap // kind and name -> entities and virtual machines
	uuids    multimap // lower-case instance or BIOS UUID, by prefix -> virtual machines
	waiting  map[ref]chan Task

	revisions  map[ref]int // how often each object was reported
	incomplete []ref       // new virtual machines that are to be read

	missed missed
}

func newIndex() *index {
	return &index{
		entities: map[ref]*entity{}, vms: map[ref]*machine{}, tasks: map[ref]Task{},
		names: multimap{}, uuids: multimap{}, waiting: map[ref]chan Task{}, revisions: map[ref]int{},
	}
}

// changes is what one answer of the stream meant.
type changes struct {
	vms        []machine   // as they are now, or were before they went
	at         map[ref]int // where each of vms is
	tasks      []Task      // done, or gone before they were
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
			ix.applyOne(update, &c)
		}
	}
	return c
}

// applyAt takes over what was read of an object that had this revision, unless the stream has reported it since.
func (ix *index) applyAt(revision int, update types.ObjectUpdate) changes {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var c changes
	if revision > 0 && ix.revisions[update.Obj] == revision { // what the stream does not show would never leave
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
	return ix.revisions[r]
}

func (ix *index) applyOne(update types.ObjectUpdate, c *changes) {
	gone := update.Kind == types.ObjectUpdateKindLeave
	if ix.revisions[update.Obj]++; gone {
		delete(ix.revisions, update.Obj)
	}
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
		m = &machine{ref: update.Obj}
		ix.vms[update.Obj] = m
	}
	before := *m
	ix.unname(m)
	m.update(update)
	ix.names.add(nameKey(kindVM, m.name), m.ref)
	ix.uuids.add(instanceKey(m.instanceUUID), m.ref)
	ix.uuids.add(biosKey(m.biosUUID), m.ref)

	before.changeVersion = m.changeVersion // says that something changed, which is not news to anyone by itself
	if !known || !reflect.DeepEqual(before, *m) {
		c.vm(m)
	}
	if m.name != before.name && ix.missed.take(before.name, m.name) || m.instanceUUID != before.instanceUUID && ix.missed.take(m.instanceUUID) {
		c.structural = true
	}
	if templateChanged(&before, m) {
		c.structural = true
	}
}

// templateChanged reports whether a template came or went, has another snapshot, or is found by another name.
func templateChanged(before, after *machine) bool {
	return after.template != before.template ||
		before.template && (before.snapshot != after.snapshot || before.name != after.name || before.parent != after.parent)
}

func (ix *index) dropVM(gone ref, c *changes) {
	m, ok := ix.vms[gone]
	if !ok {
		return
	}
	ix.unname(m)
	delete(ix.vms, gone)
	c.vm(m)
	c.structural = c.structural || m.template || m.instanceUUID == "" || ix.missed.take(m.name)
}

func (ix *index) unname(m *machine) {
	ix.names.remove(nameKey(kindVM, m.name), m.ref)
	ix.uuids.remove(instanceKey(m.instanceUUID), m.ref)
	ix.uuids.remove(biosKey(m.biosUUID), m.ref)
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

func instanceKey(uuid string) string { return uuidKey("instance/", uuid) }

func biosKey(uuid string) string { return uuidKey("bios/", uuid) }

func uuidKey(prefix, uuid string) string {
	if uuid == "" {
		return ""
	}
	return prefix + strings.ToLower(uuid)
}
