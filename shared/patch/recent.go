// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Recent holds a value for each object that was written within the last CacheLag. After that the cache is trusted and the value is
// dropped, also for deleted objects. It is not safe for concurrent use. The zero value is ready to use.
type Recent[V any] struct {
	entries map[client.ObjectKey]entry[V]
	swept   time.Time
}

type entry[V any] struct {
	value V
	at    time.Time
}

// Set replaces the value of an object that was written at the given time.
func (r *Recent[V]) Set(key client.ObjectKey, value V, at time.Time) {
	if r.entries == nil {
		r.entries = map[client.ObjectKey]entry[V]{}
	}
	r.entries[key] = entry[V]{value: value, at: at}
	r.sweep()
}

// Get returns the value of an object that was written within the last CacheLag.
func (r *Recent[V]) Get(key client.ObjectKey) (V, bool) {
	r.sweep()
	if known, ok := r.entries[key]; ok && time.Since(known.at) <= CacheLag {
		return known.value, true
	}
	var none V
	return none, false
}

// Delete drops the value of an object.
func (r *Recent[V]) Delete(key client.ObjectKey) { delete(r.entries, key) }

// Len returns the number of objects with a value.
func (r *Recent[V]) Len() int { return len(r.entries) }

// sweep drops expired values, at most once per CacheLag.
func (r *Recent[V]) sweep() {
	now := time.Now()
	if now.Sub(r.swept) < CacheLag {
		return
	}
	r.swept = now
	maps.DeleteFunc(r.entries, func(_ client.ObjectKey, e entry[V]) bool { return now.Sub(e.at) > CacheLag })
}
