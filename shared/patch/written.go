// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CatchUp is how long a reconcile stands back that was given an object from before its own last write. The watch brings
// the newer one within milliseconds.
const CatchUp = 20 * time.Millisecond

// Written remembers the last version of each object that a controller wrote, so that it can tell when its cache is
// behind: what it recorded there, a task in flight above all, would be done twice. The zero value is ready to use.
type Written struct {
	mu       sync.Mutex
	versions map[client.ObjectKey]string
}

// Note remembers the version of an object just written.
func (w *Written) Note(obj client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[client.ObjectKey]string{}
	}
	w.versions[client.ObjectKeyFromObject(obj)] = obj.GetResourceVersion()
}

// Behind reports whether obj is older than the last write.
func (w *Written) Behind(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, ok := w.versions[client.ObjectKeyFromObject(obj)]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), written)
	return err == nil && order < 0
}

// Forget drops an object that is gone.
func (w *Written) Forget(key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}
