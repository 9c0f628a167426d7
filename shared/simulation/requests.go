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

// Request is what somebody has asked for.
type Request struct {
	UserAgent string
	// Verb is that of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource is the plural; empty for what is no resource, such as discovery.
	Resource, Subresource string
	Namespace, Name       string
	// Path is the whole one.
	Path string
}

// writes reports whether it changes something.
func (r Request) writes() bool {
	return r.Resource != "" && !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

// Object is what requests are about.
type Object struct{ Resource, Namespace, Name string }

func (o Object) String() string {
	return o.Resource + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// Rate is how many requests there were about one object within a minute.
type Rate struct {
	Object
	Count int
}

// String is how it is printed.
func (r Rate) String() string {
	return fmt.Sprintf("at most %d requests a minute for one object (%s)", r.Count, r.Object)
}

// mostRequests is how many requests a minute a client may send for one object that it has trouble with.
const mostRequests = 600

// TooMany is that the client does not wait between its attempts; nil when it does.
func (r Rate) TooMany() error {
	if r.Count <= mostRequests {
		return nil
	}
	return fmt.Errorf("%s, where %d are enough", r, mostRequests)
}

// Log are the requests so far.
type Log struct {
	mu       sync.Mutex
	countAll bool // and keep none
	requests []Request
	minute   time.Time
	counts   map[Object]int // within the minute
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

// opened notes a watch that is open until it is closed.
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

// Watches returns what asked for the watches that are open now.
func (l *Log) Watches() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.open))
}

// CountOnly keeps no requests from now on, as there may be many.
func (l *Log) CountOnly() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countAll, l.requests = true, nil
}

// Highest is the highest rate that there was, requests by name only.
func (l *Log) Highest() Rate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.highest
}

// Requests returns all that were asked since ForgetRequests, oldest first.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// ForgetRequests forgets them.
func (l *Log) ForgetRequests() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = nil
}

// parse reads what a request asks for from its path, as the API server does.
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
