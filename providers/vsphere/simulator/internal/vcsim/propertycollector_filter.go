// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// filterView holds what a client has been sent through one filter.
type filterView struct {
	known map[types.ManagedObjectReference]bool
	// paths are the properties that the filter traverses.
	paths []string
	// silent are objects reached through a silent property. Objects that were there initially are kept.
	silent   []types.ObjectSpec
	reported []types.ObjectSpec // the others
}

// restart clears what the client has been sent.
func (c *Collector) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views, c.pending, c.sent, c.changes = nil, nil, nil, changes{}
}

// update returns at most limit changed objects, or nil if there are none.
func (c *Collector) update(ctx *simulator.Context, limit int) (*types.UpdateSet, types.BaseMethodFault) {
	c.mu.Lock()
	pending, since := c.pending, c.changes
	if pending == nil {
		c.changes = changes{}
	}
	filters := slices.Clone(c.Filter)
	c.mu.Unlock()
	if pending == nil {
		for _, ref := range filters {
			updates, fault := c.filterUpdates(ctx, ref, since)
			if fault != nil {
				return nil, fault
			}
			if len(updates) > 0 {
				pending = append(pending, types.PropertyFilterUpdate{Filter: ref, ObjectSet: updates})
			}
		}
	}
	if len(pending) == 0 {
		return nil, nil
	}
	now, later := page(pending, limit)
	c.mu.Lock()
	c.pending = later
	c.mu.Unlock()
	return &types.UpdateSet{FilterSet: now, Truncated: types.NewBool(later != nil)}, nil
}

// page splits the updates after limit objects.
func page(all []types.PropertyFilterUpdate, limit int) (now, later []types.PropertyFilterUpdate) {
	for i, set := range all {
		if len(set.ObjectSet) <= limit {
			limit -= len(set.ObjectSet)
			continue
		}
		now = slices.Clone(all[:i])
		if limit > 0 {
			now = append(now, types.PropertyFilterUpdate{Filter: set.Filter, ObjectSet: set.ObjectSet[:limit]})
		}
		rest := types.PropertyFilterUpdate{Filter: set.Filter, ObjectSet: set.ObjectSet[limit:]}
		return now, append([]types.PropertyFilterUpdate{rest}, all[i+1:]...)
	}
	return all, nil
}

// filterUpdates compares the client's view of a filter with the current state.
func (c *Collector) filterUpdates(ctx *simulator.Context, ref types.ManagedObjectReference, since changes) ([]types.ObjectUpdate, types.BaseMethodFault) {
	filter, ok := ctx.Session.Get(ref).(*simulator.PropertyFilter)
	if !ok {
		return nil, nil
	}
	spec := filter.Spec
	view, first := c.view(ref, spec, backendOf(ctx).Silent())
	if !first {
		spec.ObjectSet = view.reported
	}
	var updates []types.ObjectUpdate
	for _, ref := range since.removed {
		if view.known[ref] {
			delete(view.known, ref)
			updates = append(updates, types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave})
		}
	}
	var entered []types.ManagedObjectReference
	if first || view.membersChanged(since) {
		refs, fault := c.members(ctx, spec, !first)
		if fault != nil {
			return nil, fault
		}
		var left []types.ObjectUpdate
		entered, left = view.compare(refs)
		updates = append(updates, left...)
	}
	updates = append(updates, c.enter(ctx, filter.Spec, entered)...)
	for _, changed := range since.order {
		if view.known[changed] && !slices.Contains(entered, changed) {
			updates = append(updates, c.modify(ctx, filter.Spec, changed, since.names[changed])...)
		}
	}
	return updates, nil
}

func (c *Collector) view(ref types.ManagedObjectReference, spec types.PropertyFilterSpec, silent []string) (view *filterView, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if view, ok := c.views[ref]; ok {
		return view, false
	}
	if c.views == nil {
		c.views = map[types.ManagedObjectReference]*filterView{}
	}
	view = &filterView{known: map[types.ManagedObjectReference]bool{}}
	for _, object := range spec.ObjectSet {
		paths := traversed(object.SelectSet)
		if slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(silent, path) }) {
			view.silent = append(view.silent, object)
			continue
		}
		view.reported, view.paths = append(view.reported, object), append(view.paths, paths...)
	}
	c.views[ref] = view
	return view, true
}

func traversed(set []types.BaseSelectionSpec) []string {
	var paths []string
	for _, selection := range set {
		if t, ok := selection.(*types.TraversalSpec); ok {
			paths = append(append(paths, t.Path), traversed(t.SelectSet)...)
		}
	}
	return paths
}

// membersChanged reports whether the set of objects of the filter may have changed.
func (v *filterView) membersChanged(since changes) bool {
	if len(v.paths) == 0 {
		return false
	}
	if since.added {
		return true
	}
	for _, names := range since.names {
		for _, name := range names {
			if slices.Contains(v.paths, name) {
				return true
			}
		}
	}
	return false
}

// compare returns the objects that entered and left the filter, and updates the view.
func (v *filterView) compare(refs []types.ManagedObjectReference) (entered []types.ManagedObjectReference, left []types.ObjectUpdate) {
	now := make(map[types.ManagedObjectReference]bool, len(refs))
	for _, ref := range refs {
		now[ref] = true
		if !v.known[ref] {
			entered = append(entered, ref)
		}
	}
	for ref := range v.known {
		if len(v.silent) > 0 && ref.Type == "Task" {
			now[ref] = true
		}
		if !now[ref] {
			left = append(left, types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave})
		}
	}
	v.known = now
	return entered, left
}

// members returns the visible objects of a filter, without properties.
func (c *Collector) members(ctx *simulator.Context, spec types.PropertyFilterSpec, tolerateMissing bool) ([]types.ManagedObjectReference, types.BaseMethodFault) {
	bare := types.PropertyFilterSpec{ObjectSet: spec.ObjectSet, ReportMissingObjectsInResults: spec.ReportMissingObjectsInResults}
	if tolerateMissing {
		bare.ReportMissingObjectsInResults = types.NewBool(true)
	}
	for _, p := range spec.PropSet {
		bare.PropSet = append(bare.PropSet, types.PropertySpec{Type: p.Type})
	}
	// vcsim traverses children without a lock: an object that is removed at the same time would hide its sibling.
	unlock := backendOf(ctx).LockStructure()
	contents, fault := c.retrieve(ctx, bare)
	unlock()
	refs := make([]types.ManagedObjectReference, 0, len(contents))
	for _, content := range contents {
		refs = append(refs, content.Obj)
	}
	return backendOf(ctx).Visible(refs), fault
}

func (c *Collector) enter(ctx *simulator.Context, spec types.PropertyFilterSpec, refs []types.ManagedObjectReference) []types.ObjectUpdate {
	if len(refs) == 0 {
		return nil
	}
	contents, _ := c.retrieve(ctx, only(spec.PropSet, refs...))
	updates := make([]types.ObjectUpdate, 0, len(contents))
	for _, content := range contents {
		update := types.ObjectUpdate{Obj: content.Obj, Kind: types.ObjectUpdateKindEnter}
		for _, p := range content.PropSet {
			update.ChangeSet = append(update.ChangeSet, assign(p.Name, p.Val))
		}
		updates = append(updates, update)
	}
	return updates
}

// modify returns the current values of the changed properties that the filter selects. A missing value is assigned as nil.
func (c *Collector) modify(ctx *simulator.Context, spec types.PropertyFilterSpec, ref types.ManagedObjectReference, names []string) []types.ObjectUpdate {
	var concerned []types.PropertySpec
	var paths []string
	for _, p := range spec.PropSet {
		set := affected(p, names)
		if len(set) > 0 && isA(ctx, ref, p.Type) {
			concerned = append(concerned, types.PropertySpec{Type: p.Type, PathSet: set})
			paths = append(paths, set...)
		}
	}
	if len(concerned) == 0 {
		return nil
	}
	contents, _ := c.retrieve(ctx, only(concerned, ref))
	if len(contents) == 0 {
		return nil // of another type, or removed
	}
	values := map[string]types.AnyType{}
	for _, p := range contents[0].PropSet {
		values[p.Name] = p.Val
	}
	for _, missing := range contents[0].MissingSet {
		paths = slices.DeleteFunc(paths, func(path string) bool { return path == missing.Path })
	}
	slices.Sort(paths)
	update := types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindModify}
	for _, path := range slices.Compact(paths) {
		update.ChangeSet = append(update.ChangeSet, assign(path, values[path]))
	}
	if len(update.ChangeSet) == 0 {
		return nil
	}
	return []types.ObjectUpdate{update}
}

// isA reports whether the object has the type or inherits from it.
func isA(ctx *simulator.Context, ref types.ManagedObjectReference, kind string) bool {
	if ref.Type == kind {
		return true
	}
	obj := ctx.Session.Get(ref)
	if obj == nil {
		return false
	}
	field, ok := reflect.TypeOf(obj).Elem().FieldByName(kind)
	return ok && field.Anonymous
}

// affected returns the paths of the spec that contain, or are part of, a changed property.
func affected(p types.PropertySpec, names []string) []string {
	var paths []string
	if p.All != nil && *p.All {
		for _, name := range names {
			top, _, _ := strings.Cut(name, ".")
			top, _, _ = strings.Cut(top, "[")
			paths = append(paths, top)
		}
		return paths
	}
	for _, path := range p.PathSet {
		if slices.ContainsFunc(names, func(name string) bool { return within(name, path) || within(path, name) }) {
			paths = append(paths, path)
		}
	}
	return paths
}

// within reports whether the property inner is outer or a part of it.
func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func assign(name string, value types.AnyType) types.PropertyChange {
	return types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign, Val: value}
}

// only returns a filter for exactly these objects.
func only(set []types.PropertySpec, refs ...types.ManagedObjectReference) types.PropertyFilterSpec {
	spec := types.PropertyFilterSpec{PropSet: set, ReportMissingObjectsInResults: types.NewBool(true)}
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	return spec
}

// retrieve returns copies that were made while each object was locked.
func (c *Collector) retrieve(ctx *simulator.Context, spec types.PropertyFilterSpec) ([]types.ObjectContent, types.BaseMethodFault) {
	answer := c.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{SpecSet: []types.PropertyFilterSpec{spec}})
	if fault := answer.Fault(); fault != nil {
		return nil, faultOf(fault)
	}
	return answer.(*methods.RetrievePropertiesExBody).Res.Returnval.Objects, nil
}
