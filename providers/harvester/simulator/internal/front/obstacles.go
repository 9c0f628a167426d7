// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Obstacles are what may stand in the way of requests. The zero value is none.
type Obstacles struct {
	mu        sync.Mutex
	delay     time.Duration
	failing   float64
	losing    float64
	conflicts map[string]float64
	random    *rand.Rand
	silent    chan struct{}
	stuck     int // how often watches have got stuck
	cut       chan struct{}
}

// Delay has each request wait before the API server hears of it.
func (o *Obstacles) Delay(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delay = delay
}

// Fail has this share of the requests, 0 to 1, refused as by an API server that is not well, which does not do them.
func (o *Obstacles) Fail(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing = share
}

// Lose has the API server do this share of the requests that change something, and nobody hear its answer.
func (o *Obstacles) Lose(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losing = share
}

// Conflict has this share of the updates and patches of a resource, such as ippools, refused as if somebody had been faster.
func (o *Obstacles) Conflict(resource string, share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conflicts == nil {
		o.conflicts = map[string]float64{}
	}
	o.conflicts[resource] = share
}

// Silence has watches stay open and bring nothing. When it ends, those that would have brought something end too.
func (o *Obstacles) Silence(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case on && o.silent == nil:
		o.silent = make(chan struct{})
	case !on && o.silent != nil:
		close(o.silent)
		o.silent = nil
	}
}

// Stick has the watches of now stay open and bring nothing any more. New ones do.
func (o *Obstacles) Stick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stuck++
}

// sticking returns what tells of a watch that begins now whether it has got stuck.
func (o *Obstacles) sticking() func() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	begun := o.stuck
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.stuck != begun
	}
}

// Cut ends all watches that are open.
func (o *Obstacles) Cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut != nil {
		close(o.cut)
	}
	o.cut = make(chan struct{})
}

// silence returns what is closed when watches may bring something again; nil when they may.
func (o *Obstacles) silence() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.silent
}

// cutting returns what is closed when the watches of now are cut.
func (o *Obstacles) cutting() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut == nil {
		o.cut = make(chan struct{})
	}
	return o.cut
}

func (o *Obstacles) loses() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drawn(o.losing)
}

// drawn reports whether chance has it, always in the same order.
func (o *Obstacles) drawn(share float64) bool {
	if share <= 0 {
		return false
	}
	if o.random == nil {
		o.random = rand.New(rand.NewPCG(1, 2)) //nolint:gosec // It is to be the same each time.
	}
	return o.random.Float64() < share
}

// obstruct answers a request instead of the API server, or has it wait. It reports whether it has answered.
func (o *Obstacles) obstruct(w http.ResponseWriter, r *http.Request, asked Request) bool {
	o.mu.Lock()
	delay, fails := o.delay, o.drawn(o.failing)
	conflicts := (asked.Verb == "update" || asked.Verb == "patch") && o.drawn(o.conflicts[asked.Resource])
	o.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case fails:
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request")
	case conflicts:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return fails || conflicts
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
	_ = json.NewEncoder(w).Encode(status) // Who has gone does not need it.
}

var errCut = errors.New("the watch is cut")

// watch is what a watch brings. It keeps it back in silence.
type watch struct {
	body    io.ReadCloser
	silence func() <-chan struct{}
	stuck   func() bool
	ended   <-chan struct{}
	cut     <-chan struct{}
	once    sync.Once
}

// Read returns what the watch brings. In silence it returns nothing, and an error when that is over: what was brought
// meanwhile is lost, and the watch with it.
func (w *watch) Read(buffer []byte) (int, error) {
	w.once.Do(func() {
		go func() {
			select {
			case <-w.cut:
				_ = w.body.Close() // It ends what waits for it.
			case <-w.ended:
			}
		}()
	})
	n, err := w.body.Read(buffer)
	silent := w.silence()
	if silent == nil && !w.stuck() {
		return n, err
	}
	select { // silent is nil, and so never over, for a watch that is stuck
	case <-silent:
	case <-w.cut:
	case <-w.ended:
	}
	return 0, errCut
}

// Close ends the watch.
func (w *watch) Close() error { return w.body.Close() }
