// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patch writes the changes that a reconcile made to an object in as few requests as the API allows: none, one for
// metadata and spec, and one for status.
package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/text"
)

// longest is the maximum length of a condition message in bytes.
const longest = 4096

// Patch holds an object as it was read, to compute what changed. Create it with From.
type Patch struct {
	// SharedConditions is true if other controllers also set conditions on the object. A merge patch replaces the whole list of
	// conditions, so they are then sent with the resourceVersion at which they were read.
	SharedConditions bool
	// Repeats backs off writes that another writer keeps reverting; Apply reports them in the MetadataKept condition. It may be
	// nil.
	Repeats *Repeats
	// Undone is the error of a reverted write to another object that belongs to this one. It is reported in the same condition.
	// It may be nil.
	Undone *RemovedError

	before client.Object
}

// From starts a patch from the current state of the object.
func From(obj client.Object) Patch {
	return Patch{before: copyOf(obj)}
}

// Tolerate records a RemovedError about another object and returns nil for it, so that the reconcile continues without that write; it
// returns other errors unchanged. Apply then reports it in the MetadataKept condition, and the loop requeues the object for when
// the write may be retried.
func (p *Patch) Tolerate(err error) error {
	if err == nil || errors.As(err, &p.Undone) {
		return nil
	}
	return err
}

// ApplySpec sends the changes of metadata and spec, as Apply does, but not those of the status. Its errors are those of Apply.
func (p *Patch) ApplySpec(ctx context.Context, c client.Client, obj client.Object) error {
	spec, _, err := p.changed(obj)
	if err != nil || !spec {
		return err
	}
	return p.applySpec(ctx, c, obj)
}

// applySpec sends the changes and makes the next comparison start from what the API server has stored, except for the status.
func (p *Patch) applySpec(ctx context.Context, c client.Client, obj client.Object) error {
	sent := copyOf(obj)
	err := p.Repeats.Write(ctx, c, p.before, sent)
	if _, sent := Sent(err); err != nil && !sent {
		return fmt.Errorf("patching %s: %w", obj.GetName(), err)
	}
	obj.SetResourceVersion(sent.GetResourceVersion())
	obj.SetGeneration(sent.GetGeneration())
	sent.SetManagedFields(obj.GetManagedFields()) // the response has managed fields, a cache may not
	p.before = sent
	return err
}

// Apply sends the difference between obj and its state in From. Metadata and spec are sent with the resourceVersion at which they
// were read, because other writers also change the lists of finalizers and owner references. On a conflict it returns the error
// and the caller must reconcile again. A RemovedError also requires another reconcile, but the status is sent nevertheless. The
// status is owned by one controller and is sent without resourceVersion, except for SharedConditions. The status is not sent if
// the object was deleted because its last finalizer was removed. Afterwards obj has the content it had before the call,
// conditions that conform to its schema, and the resourceVersion of the last write; the Patch starts from it.
func (p *Patch) Apply(ctx context.Context, c client.Client, obj client.Object) error {
	return p.apply(ctx, c, obj, p.SharedConditions)
}

// ApplyAsRead sends the difference as Apply does, but always sends conditions with the resourceVersion at which they were read,
// so that they are only stored if the object has not changed since. It returns a conflict otherwise.
func (p *Patch) ApplyAsRead(ctx context.Context, c client.Client, obj client.Object) error {
	return p.apply(ctx, c, obj, true)
}

func (p *Patch) apply(ctx context.Context, c client.Client, obj client.Object, versioned bool) error {
	spec, changes, err := p.changed(obj)
	if err != nil {
		return err
	}
	var undone error
	if spec {
		if undone = p.applySpec(ctx, c, obj); undone != nil && !errors.As(undone, new(*RemovedError)) {
			return undone
		}
	}
	if err := p.applyStatus(ctx, c, obj, changes, versioned); err != nil {
		return err
	}
	p.before = copyOf(obj)
	return undone
}

// applyStatus sends the changes of the status, if any, including the condition about reverted writes.
func (p *Patch) applyStatus(ctx context.Context, c client.Client, obj client.Object, changes json.RawMessage, versioned bool) (err error) {
	if p.showUndone(c, obj) {
		if _, changes, err = p.changed(obj); err != nil {
			return err
		}
	}
	if changes == nil || isDeleted(obj) {
		return nil
	}
	// This must come after the first check: the conditions of another controller's object must not be changed here, so it is
	// patched without its status.
	if o, ok := obj.(status.Object); ok {
		status.MakeWritable(o)
	}
	if _, changes, err = p.changed(obj); err != nil || changes == nil {
		return err
	}
	sent := copyOf(obj)
	body, err := p.statusPatch(obj, changes, versioned)
	if err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, sent, body); err != nil {
		return fmt.Errorf("patching status of %s: %w", obj.GetName(), err)
	}
	logConditions(ctx, p.before, obj)
	obj.SetResourceVersion(sent.GetResourceVersion())
	return nil
}

// showUndone sets or removes the MetadataKept condition, and reports whether it changed the conditions.
func (p *Patch) showUndone(c client.Client, obj client.Object) bool {
	o, ok := obj.(status.Object)
	if !ok || p.Repeats == nil {
		return false
	}
	var undone []string
	for _, one := range []*RemovedError{p.Repeats.Undone(c, obj), p.Undone} {
		if one != nil && !slices.Contains(undone, one.Error()) {
			undone = append(undone, one.Error())
		}
	}
	shown := conditions.Has(o, faultlinev1.MetadataKeptCondition)
	if len(undone) > 0 {
		status.False(o, faultlinev1.MetadataKeptCondition, faultlinev1.ReasonAnnotationsRemoved, text.Truncate(strings.Join(undone, "; "), longest))
	} else if shown {
		conditions.Delete(o, faultlinev1.MetadataKeptCondition)
	}
	return len(undone) > 0 || shown
}

// changed reports whether metadata or spec changed, and returns the status patch. The status patch has no resourceVersion,
// because the first request already changed it.
func (p *Patch) changed(obj client.Object) (spec bool, status json.RawMessage, err error) {
	data, err := client.MergeFrom(p.before).Data(obj)
	if err != nil {
		return false, nil, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return false, nil, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	status = fields["status"]
	if string(status) == "{}" { // There was no status and it is still empty: CRDs may reject an empty status.
		status = nil
	}
	delete(fields, "status")
	return len(fields) > 0, status, nil
}

// ConditionsOnly reports whether conditions have changed and nothing else has.
func (p *Patch) ConditionsOnly(obj client.Object) (bool, error) {
	spec, status, err := p.changed(obj)
	if err != nil || spec || status == nil {
		return false, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(status, &fields); err != nil {
		return false, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	_, has := fields["conditions"]
	return has && len(fields) == 1, nil
}

// statusPatch returns the patch of the status. If versioned, conditions are sent with the resourceVersion.
func (p *Patch) statusPatch(obj client.Object, status json.RawMessage, versioned bool) (client.Patch, error) {
	fields := map[string]any{}
	if err := json.Unmarshal(status, &fields); err != nil {
		return nil, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	body := map[string]any{"status": status}
	if _, has := fields["conditions"]; has && versioned {
		body["metadata"] = map[string]string{"resourceVersion": p.before.GetResourceVersion()}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// isDeleted reports whether the API server has deleted the object with its last finalizer, so that it no longer has a status.
func isDeleted(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && len(obj.GetFinalizers()) == 0
}

func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object)
}
