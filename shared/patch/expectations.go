// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// InitialDelay is the first delay of a reconcile that read an object older than its own last write. The watch normally delivers
	// the newer one within milliseconds.
	InitialDelay = 20 * time.Millisecond
	// catchUpLimit is the maximum delay; each delay is twice as long as the one before. A busy API server delivers watch events
	// late, and retrying more often does not help.
	catchUpLimit = time.Second
	// CacheLag is how long a watch may take to deliver a write. After CacheLag the cache is trusted: if etcd was restored from a backup,
	// resourceVersions stay lower than those written before.
	CacheLag = time.Minute
)

// Stale reports whether the version of an object from a cache is older than a version that was known at the time learnt. It
// reports false once CacheLag has passed since learnt.
func Stale(version, known string, learnt time.Time) bool {
	if time.Since(learnt) > CacheLag {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, known)
	return err == nil && order < 0
}

// Expectations tracks the last resourceVersion of each object that a controller wrote, to detect that its cache is stale. Reconciling
// a stale object could repeat work that was already recorded on it, such as a task in progress. It tracks a write for CacheLag. The
// zero value is ready to use.
type Expectations struct {
	// Repeats writes metadata and backs off if writes are reverted.
	Repeats Repeats

	mu      sync.Mutex
	objects Recent[lastWrite]
}

type lastWrite struct {
	uid     types.UID
	version string
	at      time.Time
	// standBack is the delay for the next reconcile that reads a stale object.
	standBack time.Duration
}

// Observe records the resourceVersion of an object just written, and the time from which it is known.
func (w *Expectations) Observe(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	now := lastWrite{uid: obj.GetUID(), version: obj.GetResourceVersion(), at: time.Now(), standBack: InitialDelay}
	if last, ok := w.objects.Get(key); ok && last.uid == now.uid && last.version == now.version {
		now.at = last.at
	}
	w.objects.Set(key, now, now.at)
}

// At returns since when the last noted version of obj is known, or its creation time if none was noted within the last CacheLag.
func (w *Expectations) At(obj client.Object) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.objects.Get(client.ObjectKeyFromObject(obj)); ok && last.uid == obj.GetUID() {
		return last.at
	}
	return obj.GetCreationTimestamp().Time
}

// Stale reports whether obj is older than the last write, if that was within the last CacheLag.
func (w *Expectations) Stale(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.objects.Get(client.ObjectKeyFromObject(obj))
	return ok && last.after(obj)
}

// Backoff returns how long to delay a reconcile of obj because obj is older than the last write; 0 if it is not. The delay
// doubles with every call, from InitialDelay up to one second, until the object is written again. An object that is still older when
// CacheLag has passed since the write is reconciled as it is.
func (w *Expectations) Backoff(obj client.Object) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	last, ok := w.objects.Get(key)
	if !ok || !last.after(obj) {
		return 0
	}
	now := last.standBack
	last.standBack = min(2*now, catchUpLimit)
	w.objects.Set(key, last, last.at)
	return now
}

// after reports whether the write is newer than obj.
func (l lastWrite) after(obj client.Object) bool {
	return l.uid == obj.GetUID() && Stale(obj.GetResourceVersion(), l.version, l.at)
}

// Forget drops a deleted object.
func (w *Expectations) Forget(key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects.Delete(key)
}
