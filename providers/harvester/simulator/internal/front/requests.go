// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// Log are the requests so far.
type Log struct {
	mu       sync.Mutex
	requests []Request
}

func (l *Log) note(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
}

// Requests returns all that were asked since ForgetRequests, oldest first.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// ForgetRequests begins anew.
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
