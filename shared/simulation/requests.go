// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is a request of a client.
type Request struct {
	UserAgent string
	// Verb is the RBAC verb: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource is the plural; empty for requests without resource, such as discovery.
	Resource, Subresource string
	Namespace, Name       string
	// Path is the URL path.
	Path string
}

// writes reports whether the request changes something.
func (r Request) writes() bool {
	return r.Resource != "" && !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

// Object is the object of requests.
type Object struct{ Resource, Namespace, Name string }

func (o Object) String() string {
	return o.Resource + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// Rate is the number of requests for one object within a minute.
type Rate struct {
	Object
	Count int
}

// String formats the rate for output.
func (r Rate) String() string {
	return fmt.Sprintf("at most %d requests a minute for one object (%s)", r.Count, r.Object)
}

// mostRequests is the maximum number of requests per minute that a client may send for an object whose requests fail.
const mostRequests = 600

// TooMany returns an error if the client does not wait between its attempts; nil if it does.
func (r Rate) TooMany() error {
	if r.Count <= mostRequests {
		return nil
	}
	return fmt.Errorf("%s, where %d are enough", r, mostRequests)
}

// Log records requests.
type Log struct {
	mu       sync.Mutex
	countAll bool // and keep none
	requests []Request
	minute   time.Time
	counts   map[Object]int // within the current minute
	highest  Rate
	open     map[*watch]Request
}

func (l *Log) note(r Request, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.countAll {
		l.requests = append(l.requests, r)
	}
	if r.Name == "" {
		return
	}
	if minute := now.Truncate(time.Minute); !minute.Equal(l.minute) {
		l.minute, l.counts = minute, map[Object]int{}
	}
	of := Object{r.Resource, r.Namespace, r.Name}
	l.counts[of]++
	if l.counts[of] > l.highest.Count {
		l.highest = Rate{of, l.counts[of]}
	}
}

// opened records an open watch until it is closed.
func (l *Log) opened(w *watch, asked Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*watch]Request{}
	}
	l.open[w] = asked
}

func (l *Log) closed(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, w)
}

// Watches returns the requests of the open watches.
func (l *Log) Watches() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.open))
}

// CountOnly stops recording requests, because there may be many; they are still counted.
func (l *Log) CountOnly() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countAll, l.requests = true, nil
}

// Highest returns the highest rate so far. It only includes requests with a name.
func (l *Log) Highest() Rate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.highest
}

// Requests returns the requests since ForgetRequests, the oldest first.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// ForgetRequests drops the recorded requests.
func (l *Log) ForgetRequests() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = nil
}

// parse derives a Request from the path, as the API server does.
func parse(r *http.Request) Request {
	out := Request{UserAgent: r.UserAgent(), Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return out
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		out.Namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	out.Resource, out.Name, out.Subresource = parts[0], parts[1], strings.Trim(strings.Join(parts[2:], "/"), "/")
	out.Verb = verb(r, out.Name != "")
	return out
}

func verb(r *http.Request, named bool) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	asks := r.URL.Query().Get("watch")
	switch {
	case asks == "true" || asks == "1":
		return "watch"
	case named:
		return "get"
	}
	return "list"
}

func discard() *log.Logger { return log.New(io.Discard, "", 0) }
