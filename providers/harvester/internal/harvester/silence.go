// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

const (
	// silenceLimit is how long a watch may receive nothing before this is checked. An API server sends a bookmark on each watch at least
	// every minute, so a healthy Harvester gets no additional requests.
	silenceLimit = 2 * time.Minute
	// looks is the number of checks of the watches, in memory, per silence limit.
	looks = 8
	// reopening is the maximum time until ended watches are open again. Watches that are not open by then are no longer needed.
	reopening = time.Minute
)

// watches tracks the watches of a connection.
type watches struct {
	mu   sync.Mutex
	open map[*opened]struct{}
	// reopenSince are the paths of ended watches that must be opened again, and since when.
	reopenSince map[string]time.Time
	// reopened signals that a watch was opened.
	reopened chan struct{}
}

// opened is the response body of a watch.
type opened struct {
	io.ReadCloser

	of       *watches
	path     string
	lastRead time.Time
	// ended is set if the watch was ended by renew, closed if its reader closed it.
	ended, closed bool
}

func newWatches() *watches {
	return &watches{open: map[*opened]struct{}{}, reopenSince: map[string]time.Time{}, reopened: make(chan struct{}, 1)}
}

// track tracks the body of a watch of a path.
func (w *watches) track(path string, body io.ReadCloser) io.ReadCloser {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.reopenSince, path)
	select {
	case w.reopened <- struct{}{}:
	default:
	}
	o := &opened{ReadCloser: body, of: w, path: path, lastRead: time.Now()}
	w.open[o] = struct{}{}
	return o
}

// Read reads from the watch. If renew has ended it, Read returns io.EOF, so that the informer resumes at its last resourceVersion.
func (o *opened) Read(buffer []byte) (int, error) {
	n, err := o.ReadCloser.Read(buffer)
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if n > 0 {
		o.lastRead = time.Now()
	}
	if err != nil && !o.closed {
		delete(o.of.open, o)
		o.of.reopenSince[o.path] = time.Now()
	}
	if err != nil && o.ended {
		err = io.EOF
	}
	return n, err
}

// Close ends the watch.
func (o *opened) Close() error {
	o.of.mu.Lock()
	o.closed = true
	delete(o.of.open, o)
	o.of.mu.Unlock()
	return o.ReadCloser.Close()
}

// silent reports whether a watch has received nothing for the limit.
func (w *watches) silent(limit time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o := range w.open {
		if time.Since(o.lastRead) >= limit {
			return true
		}
	}
	return false
}

// closeSilent ends the watches that have received nothing for the limit. Informers open them again at their last resourceVersion and miss
// no event.
func (w *watches) closeSilent(limit time.Duration) {
	w.mu.Lock()
	var ended []*opened
	for o := range w.open {
		if time.Since(o.lastRead) >= limit {
			o.ended = true
			w.reopenSince[o.path] = time.Now()
			ended = append(ended, o)
		}
	}
	w.mu.Unlock()
	for _, o := range ended {
		_ = o.ReadCloser.Close() // it unblocks the reader
	}
}

// allReopened reports whether the ended watches are open again.
func (w *watches) allReopened() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, since := range w.reopenSince {
		if time.Since(since) < reopening {
			return false
		}
	}
	return true
}

// expire drops ended watches that were not opened again, because they are no longer needed.
func (w *watches) expire(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.reopenSince, func(_ string, since time.Time) bool { return now.Sub(since) >= reopening })
}

// awaitReopened waits until the ended watches are open again.
func (w *watches) awaitReopened(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reopening)
	defer cancel()
	for !w.allReopened() {
		select {
		case <-w.reopened:
		case <-ctx.Done():
			return
		}
	}
}

// watchSilence calls startProbing when a watch has received nothing for too long, until the connection is closed.
func (c *Connection) watchSilence() {
	for c.sleep(c.silence / looks) {
		if c.watches.silent(c.silence) {
			c.startProbing()
		}
	}
}

// checkSilence probes Harvester and, if watches have received nothing for long, tries a new watch. If that receives events, either
// nothing had happened or a watch was stuck; the silent watches are opened again.
func (c *Connection) checkSilence(ctx context.Context) *Problem {
	if problem := c.probe(ctx); problem != nil {
		return problem
	}
	if c.watches.silent(c.silence) {
		if problem := c.tryWatch(ctx); problem != nil {
			return problem
		}
		c.watches.closeSilent(c.silence)
	}
	if c.isSilent() {
		c.watches.awaitReopened(ctx) // missed events are in flight
	}
	return nil
}

// isSilent reports whether the watches are known to be silent.
func (c *Connection) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.staleProblem != nil && c.staleProblem.Reason == infrav1.HarvesterSilentReason
}

// probing is a context key that marks the test watch.
type probing struct{}

// tryWatch opens a watch that must receive events immediately: the existing hosts.
func (c *Connection) tryWatch(ctx context.Context) *Problem {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, probing{}, true), probeTimeout)
	defer cancel()
	asking, err := c.asking()
	if err != nil {
		return failed(c.Host(), err)
	}
	body, err := asking.Get().AbsPath("/api/"+corev1.SchemeGroupVersion.String()+"/nodes").
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Param("watch", "true").Param("resourceVersion", "0").Stream(ctx)
	if apierrors.IsForbidden(err) {
		return nil // the reads of hosts report the denial
	}
	if err != nil && ctx.Err() == nil {
		return failed(c.Host(), err)
	}
	if err == nil {
		_, err = io.ReadFull(body, make([]byte, 1))
		_ = body.Close() // enough has been read
	}
	if err == nil {
		return nil
	}
	return &Problem{Reason: infrav1.HarvesterSilentReason, Message: fmt.Sprintf(
		"%s responds, but its watches have delivered nothing for %s, and neither does a new watch: check whether its API server is healthy, and whether a proxy in front of it blocks watches",
		c.Host(), c.silence)}
}

// RoundTrip sends the request and tracks the response body of a watch.
func (l listener) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		if request.Context().Err() == nil {
			l.failed()
		}
		return nil, err
	}
	tried, _ := request.Context().Value(probing{}).(bool)
	if watch := request.URL.Query().Get("watch"); (watch == "true" || watch == "1") && !tried && response.StatusCode == http.StatusOK {
		response.Body = l.watches.track(request.URL.Path, response.Body)
	}
	return response, nil
}

// asking returns a client that shares its connection with the watches.
func (c *Connection) asking() (*rest.RESTClient, error) {
	config := rest.CopyConfig(c.account.config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.scheme)
	return rest.UnversionedRESTClientForConfigAndClient(config, c.watching)
}
