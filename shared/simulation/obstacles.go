// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Faults configures how requests are obstructed. The zero value obstructs none.
type Faults struct {
	mu        sync.Mutex
	delay     time.Duration
	lag       time.Duration
	lifetime  time.Duration
	refused   map[int32]float64 // by code
	losing    float64
	timingOut float64
	conflicts map[string]float64 // by resource
	random    *rand.Rand
	silent    chan struct{}
	stuck     int // number of calls to Stick
	cut       chan struct{}
}

// Delay delays each request before it reaches the API server.
func (o *Faults) Delay(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delay = delay
}

// Lag delays the events of watches by the given time, or up to twice as long if there are many.
func (o *Faults) Lag(lag time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lag = lag
}

// Shorten ends watches that begin from now on after at most the given time; 0 does not limit them.
func (o *Faults) Shorten(lifetime time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lifetime = lifetime
}

// Refuse rejects the given proportion of requests, 0 to 1, with a status code, like a failing API server that does not perform
// them.
func (o *Faults) Refuse(code int32, share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refused == nil {
		o.refused = map[int32]float64{}
	}
	o.refused[code] = share
}

// TimeOut makes the API server perform the given proportion of writes but respond with a timeout.
func (o *Faults) TimeOut(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timingOut = share
}

// Lose makes the API server perform the given proportion of writes but drops its response.
func (o *Faults) Lose(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losing = share
}

// AnyResource stands for all resources.
const AnyResource = "*"

// Conflict rejects the given proportion of updates and patches of a resource, such as ippools, with a conflict.
func (o *Faults) Conflict(resource string, share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conflicts == nil {
		o.conflicts = map[string]float64{}
	}
	o.conflicts[resource] = share
}

// Silence keeps watches open without events. When it is turned off, watches that missed events end.
func (o *Faults) Silence(on bool) {
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

// Stick keeps the current watches open without any further events. New watches are not affected.
func (o *Faults) Stick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stuck++
}

// sticking returns a function that reports whether a watch that begins now has got stuck.
func (o *Faults) sticking() func() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	begun := o.stuck
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.stuck != begun
	}
}

// Cut ends all open watches.
func (o *Faults) Cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut != nil {
		close(o.cut)
	}
	o.cut = make(chan struct{})
}

// silence returns a channel that is closed when watches deliver events again; nil if they do.
func (o *Faults) silence() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.silent
}

// cutting returns a channel that is closed when the current watches are cut.
func (o *Faults) cutting() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut == nil {
		o.cut = make(chan struct{})
	}
	return o.cut
}

// fates reports whether the response to a write is lost, or replaced by a timeout.
func (o *Faults) fates() (lost, timedOut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drawn(o.losing), o.drawn(o.timingOut)
}

// lagging returns the delay of watches.
func (o *Faults) lagging() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lag
}

// expiring returns the time at which a watch that begins now ends; nil for never.
func (o *Faults) expiring() <-chan time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lifetime <= 0 {
		return nil
	}
	return time.After(time.Duration(o.chance() * float64(o.lifetime)))
}

// drawn draws whether an event of the given probability happens. The sequence is always the same.
func (o *Faults) drawn(share float64) bool {
	return share > 0 && o.chance() < share
}

func (o *Faults) chance() float64 {
	if o.random == nil {
		o.random = rand.New(rand.NewPCG(1, 2))
	}
	return o.random.Float64()
}

// refusal returns the status code with which a request is rejected; 0 for none.
func (o *Faults) refusal(asked Request) int32 {
	for _, code := range slices.Sorted(maps.Keys(o.refused)) {
		if o.drawn(o.refused[code]) {
			return code
		}
	}
	if (asked.Verb == "update" || asked.Verb == "patch") && o.drawn(max(o.conflicts[asked.Resource], o.conflicts[AnyResource])) {
		return http.StatusConflict
	}
	return 0
}

// obstruct responds to a request instead of the API server, or delays it. It reports whether it has responded.
func (o *Faults) obstruct(w http.ResponseWriter, r *http.Request, asked Request) bool {
	o.mu.Lock()
	delay, code := o.delay, o.refusal(asked)
	o.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return true
		}
	}
	if code != 0 {
		refuse(w, code)
	}
	return code != 0
}

// refusals maps status codes to the responses of an API server.
func refusals() map[int32]metav1.Status {
	return map[int32]metav1.Status{
		http.StatusConflict: {
			Reason: metav1.StatusReasonConflict, Message: "the object has been modified; please apply your changes to the latest version and try again",
		},
		http.StatusTooManyRequests:     {Reason: metav1.StatusReasonTooManyRequests, Message: "too many requests, please try again later"},
		http.StatusInternalServerError: {Reason: metav1.StatusReasonInternalError, Message: "Internal error occurred: etcdserver: leader changed"},
		http.StatusServiceUnavailable:  {Reason: metav1.StatusReasonServiceUnavailable, Message: "the server is currently unable to handle the request"},
		http.StatusGatewayTimeout:      {Reason: metav1.StatusReasonTimeout, Message: "request did not complete within the allotted timeout"},
	}
}

// status returns the body of a response with a status code.
func status(code int32) []byte {
	is := refusals()[code]
	is.TypeMeta, is.Status, is.Code = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure, code
	body, _ := json.Marshal(is) // It consists of strings and a number.
	return body
}

func refuse(w http.ResponseWriter, code int32) {
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_, _ = w.Write(status(code)) // A client that has disconnected does not need it.
}

// timeOut replaces a response by a timeout.
func timeOut(response *http.Response) {
	_ = response.Body.Close() // It is not used.
	body := status(http.StatusGatewayTimeout)
	response.StatusCode, response.Status = http.StatusGatewayTimeout, http.StatusText(http.StatusGatewayTimeout)
	response.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

var errCut = errors.New("the watch is cut")

// watch is the response body of a watch. It blocks during silence.
type watch struct {
	log     *Log
	body    io.ReadCloser
	silence func() <-chan struct{}
	stuck   func() bool
	lag     func() time.Duration
	ended   <-chan struct{}
	cut     <-chan struct{}
	expired <-chan time.Time
	over    atomic.Bool // it has expired
	once    sync.Once
}

// Read returns the events of the watch. During silence it blocks, and returns an error afterwards: events in between are lost,
// and the watch ends.
func (w *watch) Read(buffer []byte) (int, error) {
	w.once.Do(func() {
		go func() {
			select {
			case <-w.cut:
				_ = w.body.Close() // This ends the pending read.
			case <-w.expired:
				w.over.Store(true)
				_ = w.body.Close()
			case <-w.ended:
			}
		}()
	})
	n, err := w.body.Read(buffer)
	if w.over.Load() {
		return 0, io.EOF // as if the API server had ended it, only earlier
	}
	silent := w.silence()
	if silent == nil && !w.stuck() {
		if n > 0 {
			w.late()
		}
		return n, err
	}
	select { // silent is nil for a stuck watch, so that it never ends
	case <-silent:
	case <-w.cut:
	case <-w.ended:
	}
	return 0, errCut
}

// late waits for the delay of the watch.
func (w *watch) late() {
	lag := w.lag()
	if lag <= 0 {
		return
	}
	select {
	case <-time.After(lag):
	case <-w.ended:
	}
}

// Close ends the watch.
func (w *watch) Close() error {
	w.log.closed(w)
	return w.body.Close()
}
