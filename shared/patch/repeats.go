// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/faultline-io/faultline/shared/watch"
)

// ErrBehind is returned by work that must be repeated once the cache, or the API server, has caught up. It should not be logged.
var ErrBehind = errors.New("other clients' writes come first")

const (
	// remembered is how long a write is tracked. A write that is reverted later than that does not count.
	remembered = 10 * time.Minute
	// sweepInterval is how much longer an expired write uses memory, at most.
	sweepInterval = time.Minute
	// conflictThreshold is the number of reverts by another writer after which they are reported.
	conflictThreshold = 3
)

// RemovedError reports that written annotations, labels, finalizers or owner references are not kept.
type RemovedError struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Removed lists the removed metadata, such as "annotation example.com/a".
	Removed []string
	// ByOthers is true if another write removed or changed it. Otherwise the API server's response did not contain it.
	ByOthers bool
	// Paused is true if nothing was written this time. After is how long no write will be sent.
	Paused bool
	After  time.Duration
	// Reportable is true if the error has not been returned since the last write. Record an event only then.
	Reportable bool
	// Ends is how long this is worth reporting if it does not happen again.
	Ends time.Duration
}

// Error names what is removed and how to fix it.
func (e *RemovedError) Error() string {
	what := fmt.Sprintf("%s of %s %s", strings.Join(e.Removed, ", "), e.Kind, e.Name)
	if e.ByOthers {
		return "another client removes or changes the " + what + " after each write: find the controller, GitOps tool or user, and configure it to ignore " +
			"annotations, labels, finalizers and owner references of Faultline and of Cluster API"
	}
	return "the API server does not store the " + what + ": find the mutating admission policy or webhook that removes it, and configure it to ignore " +
		"annotations, labels, finalizers and owner references of Faultline and of Cluster API"
}

// Again returns how long to wait before the write is retried; at least InitialDelay.
func (e *RemovedError) Again() time.Duration { return max(e.After, InitialDelay) }

// ReportableError returns the RemovedError in err and reports whether an event should be recorded for it.
func ReportableError(err error) (*RemovedError, bool) {
	var removed *RemovedError
	return removed, errors.As(err, &removed) && removed.Reportable
}

// Sent returns the RemovedError in err and reports whether the write was sent. It reports false for every other error, and while
// the write is paused.
func Sent(err error) (*RemovedError, bool) {
	var removed *RemovedError
	return removed, errors.As(err, &removed) && !removed.Paused
}

// Repeats writes annotations, labels, finalizers and owner references, and tracks its writes for ten minutes. If another writer
// reverts a write, it is retried with a backoff per object that does not depend on the number of events. The zero value is ready
// to use; nil writes without tracking.
type Repeats struct {
	mu      sync.Mutex
	objects map[object]*writes
	pauses  workqueue.TypedRateLimiter[object]
	// sweeper runs while writes are tracked: most objects are deleted, and no call follows for them.
	sweeper *time.Timer
}

// Writer sends patches. Patch receives an object that has only a name and namespace, and sets it to the API server's response.
type Writer interface {
	Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error
	Scheme() *runtime.Scheme
}

// object identifies an object: one Repeats may write several kinds, and objects have no UID in tests.
type object struct {
	kind string
	key  client.ObjectKey
	uid  types.UID
}

type writes struct {
	// set holds the metadata that was set and not removed since, keyed by description.
	set map[string]string
	// undone lists what the last write tried to restore, or what the API server did not keep; nil if it was neither.
	undone   []string
	stripped bool
	times    int
	at       time.Time
	pause    time.Duration
	// returned is true if the outcome of the last write has been returned.
	returned bool
}

// Write sends the difference between before and after with the resourceVersion of before, sets after to the API server's
// response, and checks that the response contains the written metadata. It returns a RemovedError if the metadata was not kept,
// or if the write is paused because it was reverted too often. It returns ErrBehind, without writing, if the metadata was
// reverted only a moment ago. A former name of an annotation or label is removed once the API server has stored the value under its name.
func (r *Repeats) Write(ctx context.Context, c Writer, before, after client.Object) error {
	was, wanted := metadata(before), metadata(after)
	set := changed(was, wanted)
	undone, err := r.mayWrite(c, before, set)
	if err != nil {
		return err
	}
	if err := sendRenamed(ctx, c, before, after); err != nil {
		return err
	}
	var stripped []string
	kept := metadata(after)
	for what, value := range set {
		if is, there := kept[what]; !there || is != value {
			stripped = append(stripped, what)
		}
	}
	slices.Sort(stripped)
	maps.DeleteFunc(was, func(what, _ string) bool { _, stays := wanted[what]; return stays })
	pause := r.note(identify(after), outcome{set: set, removed: was, undone: undone, stripped: stripped})
	if len(stripped) == 0 {
		return nil
	}
	return &RemovedError{Kind: KindOf(c, after), Name: after.GetName(), Removed: stripped, After: pause, Reportable: true}
}

// send sends the difference and sets after to the response. It decodes into an empty object: a client decodes a response into the
// given object and keeps every field that the response does not have, so metadata that the API server dropped would appear to be
// kept.
func send(ctx context.Context, c Writer, before, after client.Object) error {
	data, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", after.GetName(), err)
	}
	is := reflect.ValueOf(after).Elem()
	answer := reflect.New(is.Type())
	stored := answer.Interface().(client.Object)
	stored.GetObjectKind().SetGroupVersionKind(after.GetObjectKind().GroupVersionKind())
	stored.SetNamespace(after.GetNamespace())
	stored.SetName(after.GetName())
	if err := c.Patch(ctx, stored, client.RawPatch(types.MergePatchType, data)); err != nil {
		return err
	}
	is.Set(answer.Elem())
	return nil
}

// Undone returns the RemovedError to report for an object whose writes are reverted; nil if none exists.
func (r *Repeats) Undone(c Writer, o client.Object) *RemovedError {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.objects[identify(o)]
	if w == nil || !w.isReported() {
		return nil
	}
	return w.problem(c, o)
}

// mayWrite returns what was written before and has been removed since, and an error while it may not be written again.
func (r *Repeats) mayWrite(c Writer, before client.Object, set map[string]string) ([]string, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.objects[identify(before)]
	if w == nil || w.forgotten() {
		return nil, nil
	}
	var undone []string
	is := metadata(before)
	for what := range set {
		wrote, ours := w.set[what]
		if now, there := is[what]; ours && (!there || now != wrote) {
			undone = append(undone, what)
		}
	}
	slices.Sort(undone)
	if len(undone) == 0 || time.Since(w.at) >= w.pause {
		return undone, nil
	}
	if !w.isReported() {
		return nil, ErrBehind
	}
	problem := w.problem(c, before)
	problem.Paused, problem.Reportable = true, !w.returned
	w.returned = true
	return nil, problem
}

// outcome holds what a write has set and removed, what had been reverted before, and what the API server did not keep.
type outcome struct {
	set, removed     map[string]string
	undone, stripped []string
}

// note records a write, and returns how long what is reverted should not be written again.
func (r *Repeats) note(of object, is outcome) time.Duration {
	if r == nil {
		return watch.LongestPause
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(is.set) == 0 && r.objects[of] == nil {
		return 0
	}
	w := r.remember(of)
	maps.Copy(w.set, is.set)
	maps.DeleteFunc(w.set, func(what, _ string) bool { _, gone := is.removed[what]; return gone })
	has := func(what string) bool { _, has := is.set[what]; return has }
	switch {
	case len(is.stripped) > 0:
		w.undone, w.stripped, w.times, w.pause = is.stripped, true, w.times+1, r.pauses.When(of)
	case len(is.undone) > 0 && !w.stripped:
		w.undone, w.times, w.pause = is.undone, w.times+1, r.pauses.When(of)
	case w.stripped && slices.ContainsFunc(w.undone, has): // The API server now keeps it.
		r.pauses.Forget(of)
		w.undone, w.stripped, w.times, w.pause = nil, false, 0, 0
	case w.times > 0:
		return w.pause // Something else was written: the reverted write is in the same state as before.
	}
	w.at, w.returned = time.Now(), len(is.stripped) > 0
	return w.pause
}

// remember returns the tracked writes of an object.
func (r *Repeats) remember(of object) *writes {
	if r.objects == nil {
		r.objects, r.pauses = map[object]*writes{}, watch.Backoff[object]()
	}
	w := r.objects[of]
	if w == nil || w.forgotten() {
		r.pauses.Forget(of)
		w = &writes{set: map[string]string{}}
		r.objects[of] = w
	}
	if r.sweeper == nil {
		r.sweeper = time.AfterFunc(remembered, r.sweep)
	}
	return w
}

// sweep drops expired writes, also those of deleted objects, and runs again if others are left.
func (r *Repeats) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, w := range r.objects {
		if w.forgotten() {
			delete(r.objects, of)
			r.pauses.Forget(of)
		}
	}
	r.sweeper = nil
	if len(r.objects) > 0 {
		r.sweeper = time.AfterFunc(sweepInterval, r.sweep)
	}
}

func (w *writes) forgotten() bool { return time.Since(w.at) >= remembered }

// isReported reports whether the reverts should be reported to users.
func (w *writes) isReported() bool {
	return !w.forgotten() && (w.stripped || w.times >= conflictThreshold)
}

func (w *writes) problem(c Writer, o client.Object) *RemovedError {
	since := time.Since(w.at)
	return &RemovedError{
		Kind: KindOf(c, o), Name: o.GetName(), Removed: w.undone, ByOthers: !w.stripped, After: max(w.pause-since, 0), Ends: max(remembered-since, 0),
	}
}

func identify(o client.Object) object {
	return object{fmt.Sprintf("%T", o), client.ObjectKeyFromObject(o), o.GetUID()}
}

// KindOf returns the kind of an object, which may have no type metadata; its Go type if the scheme of the client does not have it.
func KindOf(c Writer, o client.Object) string {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return fmt.Sprintf("%T", o)
	}
	return gvk.Kind
}

// metadata returns the tracked metadata of an object, keyed by description.
func metadata(o client.Object) map[string]string {
	all := map[string]string{}
	for key, value := range o.GetAnnotations() {
		all["annotation "+key] = value
	}
	for key, value := range o.GetLabels() {
		all["label "+key] = value
	}
	for _, finalizer := range o.GetFinalizers() {
		all["finalizer "+finalizer] = ""
	}
	for _, owner := range o.GetOwnerReferences() {
		all["owner reference "+owner.Kind+" "+owner.Name] = string(owner.UID)
	}
	return all
}

// changed returns the metadata that was added or changed.
func changed(before, after map[string]string) map[string]string {
	set := map[string]string{}
	for what, value := range after {
		if was, there := before[what]; !there || was != value {
			set[what] = value
		}
	}
	return set
}
