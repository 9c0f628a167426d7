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
	// CatchUp is the first delay of a reconcile that read an object older than its own last write. The watch brings the newer one within
	// milliseconds.
	CatchUp = 20 * time.Millisecond
	// catchUpLimit is how long it stands back at most, each time twice as long as before: when the API server is busy its
	// watches lag, and to ask more often does not make them faster.
	catchUpLimit = time.Second
	// Lag is how long a watch may take to bring what was written. What a cache shows after that is how things are: when etcd
	// was restored from a backup, versions are lower than what was written before, for good.
	Lag = time.Minute
)

// Stale reports whether a version of an object, as a cache shows it, is from before one that was known at learnt.
func Stale(version, known string, learnt time.Time) bool {
	if time.Since(learnt) > Lag {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, known)
	return err == nil && order < 0
}

// Written remembers the last version of each object that a controller wrote, so that it can tell when its cache is
// behind: what it recorded there, a task in flight above all, would be done twice. It remembers them for Lag. The zero value is ready to use.
type Written struct {
	// Repeats writes metadata.
	Repeats Repeats

	mu      sync.Mutex
	objects Recent[lastWrite]
}

type lastWrite struct {
	uid     types.UID
	version string
	at      time.Time
	// standBack is how long the next reconcile is to wait that comes too early.
	standBack time.Duration
}

// Note remembers the version of an object just written, and since when it is known.
func (w *Written) Note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	now := lastWrite{uid: obj.GetUID(), version: obj.GetResourceVersion(), at: time.Now(), standBack: CatchUp}
	if last, ok := w.objects.Get(key); ok && last.uid == now.uid && last.version == now.version {
		now.at = last.at
	}
	w.objects.Set(key, now, now.at)
}

// At is since when the last version of obj that was noted is known; when it was created, if none was in the last Lag.
func (w *Written) At(obj client.Object) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.objects.Get(client.ObjectKeyFromObject(obj)); ok && last.uid == obj.GetUID() {
		return last.at
	}
	return obj.GetCreationTimestamp().Time
}

// Behind reports whether obj is older than the last write.
func (w *Written) Behind(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.objects.Get(client.ObjectKeyFromObject(obj))
	return ok && last.after(obj)
}

// StandBack returns how long a reconcile of obj is to be put off because obj is older than the last write, 0 when it is not.
// It grows with every answer from CatchUp to a second, until something is written again. An object that is older still when
// Lag has passed since the write is reconciled as it is.
func (w *Written) StandBack(obj client.Object) time.Duration {
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

// after reports whether it was written after obj was as the cache shows it.
func (l lastWrite) after(obj client.Object) bool {
	return l.uid == obj.GetUID() && Stale(obj.GetResourceVersion(), l.version, l.at)
}

// Forget drops an object that is gone.
func (w *Written) Forget(key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects.Delete(key)
}
