// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// machine is an infrastructure machine of any provider.
type machine interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Waiting are machines of which something is expected.
type Waiting[M machine] struct {
	done func(M) bool
	// missing are the conditions of those that it is still expected of.
	missing map[string][]metav1.Condition
	// Seen is when the others had come so far.
	Seen map[string]time.Time
}

// NewWaiting waits for each of some machines until it is done.
func NewWaiting[M machine](names []string, done func(M) bool) *Waiting[M] {
	w := &Waiting[M]{done: done, missing: map[string][]metav1.Condition{}, Seen: map[string]time.Time{}}
	for _, name := range names {
		w.missing[name] = nil
	}
	return w
}

// Await watches the machines of a namespace until none is missing.
func Await[M machine](ctx context.Context, c client.WithWatch, kind client.ObjectList, namespace string, w *Waiting[M]) error {
	for len(w.missing) > 0 {
		// The API server ends watches that cannot keep up with a burst of changes. A
		// new one begins with all objects as they are.
		changes, err := c.Watch(ctx, kind, client.InNamespace(namespace))
		if err == nil {
			w.strike(ctx, changes)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return w.still(err)
		}
	}
	return nil
}

// strike takes machines off the missing ones as they come so far, and notes the
// conditions of the others, until none is missing or the watch has ended.
func (w *Waiting[M]) strike(ctx context.Context, changes watch.Interface) {
	defer changes.Stop()
	for len(w.missing) > 0 {
		select {
		case <-ctx.Done():
			return
		case change, open := <-changes.ResultChan():
			found, ok := change.Object.(M)
			if !open || !ok {
				return
			}
			w.note(found)
		}
	}
}

func (w *Waiting[M]) note(found M) {
	name := found.GetName()
	if _, missing := w.missing[name]; !missing {
		return
	}
	if !w.done(found) {
		w.missing[name] = found.GetConditions()
		return
	}
	delete(w.missing, name)
	w.Seen[name] = time.Now()
}

// still says what is known of the first of the machines that are not ready.
func (w *Waiting[M]) still(cause error) error {
	first := slices.Min(slices.Collect(maps.Keys(w.missing)))
	return fmt.Errorf("waiting for machines: %w; %d are not ready, the first is %s%s", cause, len(w.missing), first, provider.Explain(w.missing[first]))
}
