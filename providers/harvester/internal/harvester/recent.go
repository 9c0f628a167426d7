// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"maps"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// remembered is how long a response of Harvester is reused: many machines refer to the same image and are created at the same time.
	remembered = 5 * time.Second
	// memories is the maximum number of cached responses.
	memories = 128
)

// recent caches Harvester's latest responses about objects that machines refer to. They have no informer, because every namespace that a
// spec refers to would need one.
type recent struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	answers map[question]answer
}

// question identifies an object or, without a name, all objects of a type in a namespace.
type question struct {
	kind string
	key  client.ObjectKey
}

type answer struct {
	at  time.Time
	is  runtime.Object
	err error
}

func newRecent(c clock.PassiveClock) *recent {
	return &recent{clock: c, answers: map[question]answer{}}
}

// get fills into from the cached response, or calls ask. NotFound and Forbidden are cached, too.
func (r *recent) get(q question, into runtime.Object, ask func() error) error {
	if known, ok := r.cached(q); ok {
		if known.err == nil {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.is.DeepCopyObject()).Elem())
		}
		return known.err
	}
	at := r.clock.Now()
	err := ask()
	switch {
	case apierrors.IsForbidden(err):
		err = &refusedRead{err}
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	r.remember(q, answer{at: at, is: into.DeepCopyObject(), err: err})
	return err
}

func (r *recent) cached(q question) (answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.answers[q]
	return known, ok && r.clock.Since(known.at) < remembered
}

// remember drops all other responses if there are too many: they are requested again.
func (r *recent) remember(q question, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) >= memories {
		clear(r.answers)
	}
	r.answers[q] = a
}

// expire drops responses that are too old to be reused.
func (r *recent) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.answers, func(_ question, a answer) bool { return r.clock.Since(a.at) >= remembered })
}
