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

// ErrBehind is the error of work that is to be repeated when the cache, or the API server, shows more. It is worth no line in a log.
var ErrBehind = errors.New("others' writes come first")

const (
	// remembered is how long a write is known. One that is undone later than that is no quarrel.
	remembered = 10 * time.Minute
	// quarrel is how often a write was undone by another's when that is told.
	quarrel = 3
)

// RemovedError is the error of a write of annotations, labels, finalizers or owner references that are not kept.
type RemovedError struct {
	// Kind and Name are those of the object.
	Kind, Name string
	// Removed is what was written of its metadata, such as "annotation example.com/a".
	Removed []string
	// ByOthers says that another write removed or changed it; else the API server answered without it.
	ByOthers bool
	// Paused says that nothing was written this time. After is how long nothing will be.
	Paused bool
	After  time.Duration
	// News says that it has not been returned since the last write. It is for whoever tells it by an event.
	News bool
	// Ends is how long this is worth telling if it does not happen again.
	Ends time.Duration
}

// Error names what is removed, and says what to do.
func (e *RemovedError) Error() string {
	what := fmt.Sprintf("%s of %s %s", strings.Join(e.Removed, ", "), e.Kind, e.Name)
	if e.ByOthers {
		return "somebody removes or changes the " + what + " each time that it is written: find the controller, GitOps tool or person that does, and have it ignore " +
			"annotations, labels, finalizers and owner references of Faultline and of Cluster API"
	}
	return "the API server does not keep the " + what + ": find the mutating admission policy or webhook that removes it, and have it pass over " +
		"annotations, labels, finalizers and owner references of Faultline and of Cluster API"
}

// Again is when to write again what is not kept.
func (e *RemovedError) Again() time.Duration { return max(e.After, CatchUp) }

// News returns the RemovedError in err if an event is to tell it.
func News(err error) (*RemovedError, bool) {
	var removed *RemovedError
	return removed, errors.As(err, &removed) && removed.News
}

// Sent returns the RemovedError in err if the write was sent. It reports false for every other error, and while the write is paused.
func Sent(err error) (*RemovedError, bool) {
	var removed *RemovedError
	return removed, errors.As(err, &removed) && !removed.Paused
}

// Repeats writes annotations, labels, finalizers and owner references, and remembers for a while what it wrote. What somebody undoes it writes again
// after growing pauses for each object, however many events there are. The zero value is ready to use; nil writes, and remembers nothing.
type Repeats struct {
	mu      sync.Mutex
	objects map[object]*writes
	pauses  workqueue.TypedRateLimiter[object]
	// swept is how many objects were left when those that nobody remembers were dropped last.
	swept int
}

// Writer is what objects are written with. Patch is given an object that has no more than a name, and sets it to the answer.
type Writer interface {
	Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error
	Scheme() *runtime.Scheme
}

// object is the identity of one: of different types in one Repeats, and without a UID in tests.
type object struct {
	kind string
	key  client.ObjectKey
	uid  types.UID
}

type writes struct {
	// set is what was set of the object's metadata and is not removed since, by what it is.
	set map[string]string
	// undone was what the last write was to bring back, or did not bring; nil when it was none of these.
	undone   []string
	stripped bool
	times    int
	at       time.Time
	pause    time.Duration
	// returned says that what became of the last write has been returned.
	returned bool
}

// Write sends what differs with the version of before. What is written is checked in the answer, which after has then. It returns an RemovedError
// when it was not kept, or is not sent because it was undone too often, and ErrBehind when it is not sent because it was undone a moment ago.
func (r *Repeats) Write(ctx context.Context, c Writer, before, after client.Object) error {
	was, wanted := metadata(before), metadata(after)
	set := changed(was, wanted)
	undone, err := r.mayWrite(c, before, set)
	if err != nil {
		return err
	}
	if err := send(ctx, c, before, after); err != nil {
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
	return &RemovedError{Kind: kindOf(c, after), Name: after.GetName(), Removed: stripped, After: pause, News: true}
}

// send sends what differs, and sets after to the answer. A client decodes an answer into the object that it is given, where everything stays that the
// answer does not have: what an API server has not kept would look kept in the object that was sent.
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

// Undone returns what is told of an object of which a write is undone; nil when there is no such thing.
func (r *Repeats) Undone(c Writer, o client.Object) *RemovedError {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.objects[identify(o)]
	if w == nil || !w.told() {
		return nil
	}
	return w.problem(c, o)
}

// mayWrite returns what of the set was written before and is not there any more, and an error while it may not be written again.
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
	if !w.told() {
		return nil, ErrBehind
	}
	problem := w.problem(c, before)
	problem.Paused, problem.News = true, !w.returned
	w.returned = true
	return nil, problem
}

// outcome is what a write has set and removed, what of it was undone before, and what was not kept.
type outcome struct {
	set, removed     map[string]string
	undone, stripped []string
}

// note remembers a write, and returns how long what is undone is not written again.
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
	case w.stripped && slices.ContainsFunc(w.undone, has): // The API server keeps now what it did not.
		r.pauses.Forget(of)
		w.undone, w.stripped, w.times, w.pause = nil, false, 0, 0
	case w.times > 0:
		return w.pause // Something else was written: what is undone is as it was.
	}
	w.at, w.returned = time.Now(), len(is.stripped) > 0
	return w.pause
}

// remember returns the writes of an object, and drops those of others that were long ago.
func (r *Repeats) remember(of object) *writes {
	if r.objects == nil {
		r.objects, r.pauses = map[object]*writes{}, watch.Backoff[object]()
	}
	if len(r.objects) >= 2*r.swept+64 {
		for other, w := range r.objects {
			if w.forgotten() {
				delete(r.objects, other)
				r.pauses.Forget(other)
			}
		}
		r.swept = len(r.objects)
	}
	w := r.objects[of]
	if w == nil || w.forgotten() {
		r.pauses.Forget(of)
		w = &writes{set: map[string]string{}}
		r.objects[of] = w
	}
	return w
}

func (w *writes) forgotten() bool { return time.Since(w.at) >= remembered }

// told reports whether people are to hear of it.
func (w *writes) told() bool {
	return !w.forgotten() && (w.stripped || w.times >= quarrel)
}

func (w *writes) problem(c Writer, o client.Object) *RemovedError {
	since := time.Since(w.at)
	return &RemovedError{
		Kind: kindOf(c, o), Name: o.GetName(), Removed: w.undone, ByOthers: !w.stripped, After: max(w.pause-since, 0), Ends: max(remembered-since, 0),
	}
}

func identify(o client.Object) object {
	return object{fmt.Sprintf("%T", o), client.ObjectKeyFromObject(o), o.GetUID()}
}

func kindOf(c Writer, o client.Object) string {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return fmt.Sprintf("%T", o)
	}
	return gvk.Kind
}

// metadata is what of an object is looked at, by what it is.
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

// changed is what is to be there that was not, or was otherwise.
func changed(before, after map[string]string) map[string]string {
	set := map[string]string{}
	for what, value := range after {
		if was, there := before[what]; !there || was != value {
			set[what] = value
		}
	}
	return set
}
