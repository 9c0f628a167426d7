// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patch writes what a reconcile changed on an object in as few requests as the API allows: none, one for
// metadata and spec, one for status.
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

// longest is how long the message of a condition may be.
const longest = 4096

// Patch remembers an object as it was read.
type Patch struct {
	// SharedConditions says that other controllers set conditions of the object too. They are a list, which a merge patch sends
	// whole, so they go with the resource version that they were read at.
	SharedConditions bool
	// Repeats pauses what somebody undoes, which Apply then shows in the condition MetadataKept. It may be nil.
	Repeats *Repeats
	// Undone is what somebody undoes of another object that is written for this one, to be shown in the same condition. It may be nil.
	Undone *RemovedError

	before client.Object
}

// From starts a patch from the object as it is now.
func From(obj client.Object) Patch {
	return Patch{before: copyOf(obj)}
}

// GoOn returns nil for what somebody undoes of another object when the work goes on without it. Apply then shows it in the condition MetadataKept,
// and the loop comes again when it may be written.
func (p *Patch) GoOn(err error) error {
	if err == nil || errors.As(err, &p.Undone) {
		return nil
	}
	return err
}

// ApplySpec sends what differs in metadata and spec, as Apply does, and leaves the status for later.
func (p *Patch) ApplySpec(ctx context.Context, c client.Client, obj client.Object) error {
	spec, _, err := p.changed(obj)
	if err != nil || !spec {
		return err
	}
	return p.applySpec(ctx, c, obj)
}

// applySpec makes the next comparison start from what the API server now has, except for the status.
func (p *Patch) applySpec(ctx context.Context, c client.Client, obj client.Object) error {
	sent := copyOf(obj)
	err := p.Repeats.Write(ctx, c, p.before, sent)
	if _, sent := Sent(err); err != nil && !sent {
		return fmt.Errorf("patching %s: %w", obj.GetName(), err)
	}
	obj.SetResourceVersion(sent.GetResourceVersion())
	obj.SetGeneration(sent.GetGeneration())
	sent.SetManagedFields(obj.GetManagedFields()) // which the answer has, and a cache need not
	p.before = sent
	return err
}

// Apply sends the difference between obj and what it was in From. Metadata and spec go with the resource version they
// were read at, because finalizers and owner references are lists that others write too; a conflict is returned and the
// reconcile runs again, and so it does after a RemovedError, with which the status is sent all the same. The status belongs to
// one controller only and goes without, but for SharedConditions; that of an object
// which goes with its last finalizer is not sent. Afterwards obj is what it was
// before the call, with conditions that its schema accepts and the resource version of the last write, and the Patch starts from it.
func (p *Patch) Apply(ctx context.Context, c client.Client, obj client.Object) error {
	return p.apply(ctx, c, obj, p.SharedConditions)
}

// ApplyAsRead sends the difference as Apply does, and conditions with the resource version that they were read at, as if they were
// shared: what they say is stored only of the object as it was read.
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

// applyStatus sends the changes of the status, if there are any, with what is to be shown of writes that somebody undoes.
func (p *Patch) applyStatus(ctx context.Context, c client.Client, obj client.Object, changes json.RawMessage, versioned bool) (err error) {
	if p.showUndone(c, obj) {
		if _, changes, err = p.changed(obj); err != nil {
			return err
		}
	}
	if changes == nil || gone(obj) {
		return nil
	}
	// Only now: an object of another controller, whose conditions are not ours to mend, is patched without its status.
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

// showUndone sets or removes the condition of what somebody undoes, and reports whether it has.
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
		status.False(o, faultlinev1.MetadataKeptCondition, faultlinev1.ReasonAnnotationsRemoved, text.Cut(strings.Join(undone, "; "), longest))
	} else if shown {
		conditions.Delete(o, faultlinev1.MetadataKeptCondition)
	}
	return len(undone) > 0 || shown
}

// changed reports whether metadata or spec changed, and returns the status patch. The patch has no resource version: the first
// request has already changed it.
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
	if string(status) == "{}" { // There was no status, and still nothing is in it: CRDs may refuse one that is empty.
		status = nil
	}
	delete(fields, "status")
	return len(fields) > 0, status, nil
}

// ConditionsOnly reports whether there is something to send, and nothing of it but conditions.
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

// statusPatch is what is sent to change the status; conditions go with the resource version where versioned.
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

// gone reports whether the API server has removed the object with its last finalizer, so that it has no status any more.
func gone(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && len(obj.GetFinalizers()) == 0
}

func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object)
}
