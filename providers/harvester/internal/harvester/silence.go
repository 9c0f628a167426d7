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
	// silenceLimit is for how long a watch may bring nothing before that is looked into. An API server says on each watch every
	// minute at least how far it is, so that a Harvester that is well is asked nothing.
	silenceLimit = 2 * time.Minute
	// looks is how often in that time it is looked at what watches have brought, which is in memory.
	looks = 8
	// reopening is how long it may take until watches that have ended are open again, after which nobody has use for them any more.
	reopening = time.Minute
)

// watches are those of a connection.
type watches struct {
	mu   sync.Mutex
	open map[*opened]struct{}
	// awaited are the paths of those that have ended and are to be opened anew, and since when.
	awaited map[string]time.Time
	// reopened is told of each that was awaited.
	reopened chan struct{}
}

// opened is what a watch brings.
type opened struct {
	io.ReadCloser

	of    *watches
	path  string
	heard time.Time
	// ended says that it was ended here, closed that nobody reads it any more.
	ended, closed bool
}

func newWatches() *watches {
	return &watches{open: map[*opened]struct{}{}, awaited: map[string]time.Time{}, reopened: make(chan struct{}, 1)}
}

// follow notes from now on what a watch of a path brings.
func (w *watches) follow(path string, body io.ReadCloser) io.ReadCloser {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.awaited, path)
	select {
	case w.reopened <- struct{}{}:
	default:
	}
	o := &opened{ReadCloser: body, of: w, path: path, heard: time.Now()}
	w.open[o] = struct{}{}
	return o
}

// Read brings what comes. A watch that was ended here has come to its end in good order, so that it goes on where it was.
func (o *opened) Read(buffer []byte) (int, error) {
	n, err := o.ReadCloser.Read(buffer)
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if n > 0 {
		o.heard = time.Now()
	}
	if err != nil && !o.closed {
		delete(o.of.open, o)
		o.of.awaited[o.path] = time.Now()
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

// silent reports whether a watch has brought nothing for so long.
func (w *watches) silent(limit time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o := range w.open {
		if time.Since(o.heard) >= limit {
			return true
		}
	}
	return false
}

// renew ends those that have brought nothing for so long. Who uses them opens them again from where they were, and so misses nothing.
func (w *watches) renew(limit time.Duration) {
	w.mu.Lock()
	var ended []*opened
	for o := range w.open {
		if time.Since(o.heard) >= limit {
			o.ended = true
			w.awaited[o.path] = time.Now()
			ended = append(ended, o)
		}
	}
	w.mu.Unlock()
	for _, o := range ended {
		_ = o.ReadCloser.Close() // it ends what waits for it
	}
}

// renewed reports whether those that have ended are open again.
func (w *watches) renewed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, since := range w.awaited {
		if time.Since(since) < reopening {
			return false
		}
	}
	return true
}

// expire forgets those that have ended and that nobody has opened again: nobody has use for them.
func (w *watches) expire(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.awaited, func(_ string, since time.Time) bool { return now.Sub(since) >= reopening })
}

// await returns when those that have ended are open again.
func (w *watches) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reopening)
	defer cancel()
	for !w.renewed() {
		select {
		case <-w.reopened:
		case <-ctx.Done():
			return
		}
	}
}

// listen suspects Harvester when a watch has brought nothing for too long, until the connection is closed.
func (c *Connection) listen() {
	for c.sleep(c.silence / looks) {
		if c.watches.silent(c.silence) {
			c.suspect()
		}
	}
}

// examine asks whether Harvester answers and, when watches have brought nothing for long, whether a new one brings something. It does
// where there was only nothing to tell, or where a watch had got stuck, which is opened anew then.
func (c *Connection) examine(ctx context.Context) *Problem {
	if problem := c.probe(ctx); problem != nil {
		return problem
	}
	if c.watches.silent(c.silence) {
		if problem := c.tryWatch(ctx); problem != nil {
			return problem
		}
		c.watches.renew(c.silence)
	}
	if c.isSilent() {
		c.watches.await(ctx) // what was missed is on its way
	}
	return nil
}

// isSilent reports whether watches are known to bring nothing.
func (c *Connection) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble != nil && c.trouble.Reason == infrav1.HarvesterSilentReason
}

// onTrial is in the context of a watch that is only tried.
type onTrial struct{}

// tryWatch opens a watch that has to bring something at once: the hosts that there are.
func (c *Connection) tryWatch(ctx context.Context) *Problem {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, onTrial{}, true), probeTimeout)
	defer cancel()
	asking, err := c.asking()
	if err != nil {
		return failed(c.Host(), err)
	}
	body, err := asking.Get().AbsPath("/api/"+corev1.SchemeGroupVersion.String()+"/nodes").
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Param("watch", "true").Param("resourceVersion", "0").Stream(ctx)
	if apierrors.IsForbidden(err) {
		return nil // who may not see hosts is told so
	}
	if err != nil && ctx.Err() == nil {
		return failed(c.Host(), err)
	}
	if err == nil {
		_, err = io.ReadFull(body, make([]byte, 1))
		_ = body.Close() // it has been read as far as it is needed
	}
	if err == nil {
		return nil
	}
	return &Problem{Reason: infrav1.HarvesterSilentReason, Message: fmt.Sprintf(
		"%s answers, but its watches have brought nothing for %s, nor does a new one: see whether its API server is well, and whether a proxy before it holds them back",
		c.Host(), c.silence)}
}

// RoundTrip sends the request. Of a watch it follows what that brings.
func (l listener) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		if request.Context().Err() == nil {
			l.failed()
		}
		return nil, err
	}
	tried, _ := request.Context().Value(onTrial{}).(bool)
	if watch := request.URL.Query().Get("watch"); (watch == "true" || watch == "1") && !tried && response.StatusCode == http.StatusOK {
		response.Body = l.watches.follow(request.URL.Path, response.Body)
	}
	return response, nil
}

// asking is a client that shares its connection with the watches.
func (c *Connection) asking() (*rest.RESTClient, error) {
	config := rest.CopyConfig(c.account.config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.scheme)
	return rest.UnversionedRESTClientForConfigAndClient(config, c.watching)
}
