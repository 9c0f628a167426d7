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

// Obstacles are what may stand in the way of requests. The zero value is none.
type Obstacles struct {
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
	stuck     int // how often watches have got stuck
	cut       chan struct{}
}

// Delay has each request wait before the API server hears of it.
func (o *Obstacles) Delay(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delay = delay
}

// Lag has watches bring changes so much later, or up to twice as much when there are many.
func (o *Obstacles) Lag(lag time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lag = lag
}

// Shorten has watches that begin from now on end after at most so long; 0 lets them be.
func (o *Obstacles) Shorten(lifetime time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lifetime = lifetime
}

// Refuse has this share of the requests, 0 to 1, refused with a code, as by an API server that is not well, which does not do them.
func (o *Obstacles) Refuse(code int32, share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refused == nil {
		o.refused = map[int32]float64{}
	}
	o.refused[code] = share
}

// TimeOut has the API server do this share of the requests that change something, and answer that they took too long.
func (o *Obstacles) TimeOut(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timingOut = share
}

// Lose has the API server do this share of the requests that change something, and nobody hear its answer.
func (o *Obstacles) Lose(share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losing = share
}

// AnyResource stands for all of them.
const AnyResource = "*"

// Conflict has this share of the updates and patches of a resource, such as ippools, refused as if another writer had been faster.
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

// fates report whether the answer to a change is lost, or replaced by one that it took too long.
func (o *Obstacles) fates() (lost, timedOut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drawn(o.losing), o.drawn(o.timingOut)
}

// lagging is how late watches are.
func (o *Obstacles) lagging() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lag
}

// expiring is when a watch ends that begins now, nil for never.
func (o *Obstacles) expiring() <-chan time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lifetime <= 0 {
		return nil
	}
	return time.After(time.Duration(o.chance() * float64(o.lifetime)))
}

// drawn reports whether chance has it, always in the same order.
func (o *Obstacles) drawn(share float64) bool {
	return share > 0 && o.chance() < share
}

func (o *Obstacles) chance() float64 {
	if o.random == nil {
		o.random = rand.New(rand.NewPCG(1, 2))
	}
	return o.random.Float64()
}

// refusal is the code that a request is refused with; 0 for none.
func (o *Obstacles) refusal(asked Request) int32 {
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

// obstruct answers a request instead of the API server, or has it wait. It reports whether it has answered.
func (o *Obstacles) obstruct(w http.ResponseWriter, r *http.Request, asked Request) bool {
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

// refusals are what an API server answers with a code.
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

// status is the body of an answer with a code.
func status(code int32) []byte {
	is := refusals()[code]
	is.TypeMeta, is.Status, is.Code = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure, code
	body, _ := json.Marshal(is) // It is made of texts and a number.
	return body
}

func refuse(w http.ResponseWriter, code int32) {
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_, _ = w.Write(status(code)) // A client that has gone does not need it.
}

// timeOut makes an answer one that the request took too long.
func timeOut(response *http.Response) {
	_ = response.Body.Close() // It is not read.
	body := status(http.StatusGatewayTimeout)
	response.StatusCode, response.Status = http.StatusGatewayTimeout, http.StatusText(http.StatusGatewayTimeout)
	response.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

var errCut = errors.New("the watch is cut")

// watch is what a watch brings. It keeps it back in silence.
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

// Read returns what the watch brings. In silence it returns nothing, and an error when that is over: what was brought
// meanwhile is lost, and the watch with it.
func (w *watch) Read(buffer []byte) (int, error) {
	w.once.Do(func() {
		go func() {
			select {
			case <-w.cut:
				_ = w.body.Close() // It ends what waits for it.
			case <-w.expired:
				w.over.Store(true)
				_ = w.body.Close()
			case <-w.ended:
			}
		}()
	})
	n, err := w.body.Read(buffer)
	if w.over.Load() {
		return 0, io.EOF // as when the API server ends it, only sooner
	}
	silent := w.silence()
	if silent == nil && !w.stuck() {
		if n > 0 {
			w.late()
		}
		return n, err
	}
	select { // silent is nil, and so never over, for a watch that is stuck
	case <-silent:
	case <-w.cut:
	case <-w.ended:
	}
	return 0, errCut
}

// late waits for as long as the watch lags.
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
