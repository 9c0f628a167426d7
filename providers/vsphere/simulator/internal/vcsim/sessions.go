// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Sessions tracks sessions and the objects that each has registered.
type Sessions struct {
	mu        sync.Mutex
	expired   map[string]bool
	registry  map[string]*simulator.Registry
	listeners map[string][]simulator.RegisterObject
}

// NewSessions returns an empty Sessions.
func NewSessions() *Sessions {
	return &Sessions{
		expired:   map[string]bool{},
		registry:  map[string]*simulator.Registry{},
		listeners: map[string][]simulator.RegisterObject{},
	}
}

// Admit rejects calls that vCenter rejects without a session. vcsim would respond to property reads without values, and a call
// during the expiration of its session would restore the session.
func (t *Sessions) Admit(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if ctx.Session == nil {
		switch method.Name {
		case "RetrieveProperties", "RetrievePropertiesEx":
			return notAuthenticated(method.This)
		}
		return nil
	}
	if IsAdmin(ctx) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := ctx.Session.Key
	if t.expired[key] {
		return notAuthenticated(method.This)
	}
	t.registry[key] = ctx.Session.Registry
	if method.Name == "Logout" {
		for _, l := range t.listeners[key] {
			ctx.Map.RemoveHandler(l)
		}
		delete(t.listeners, key)
		delete(t.registry, key)
	}
	return nil
}

// Listen registers a listener for changes for the duration of the session.
func (t *Sessions) Listen(ctx *simulator.Context, l simulator.RegisterObject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners[ctx.Session.Key] = append(t.listeners[ctx.Session.Key], l)
	ctx.Map.AddHandler(l)
}

// Expire ends a session.
func (t *Sessions) Expire(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expired[key] = true
}

// RemoveExpired removes the views, filters and collectors of expired sessions.
func (t *Sessions) RemoveExpired(registry *simulator.Registry, manager *simulator.SessionManager) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.expired {
		manager.TerminateSession(&simulator.Context{Session: &simulator.Session{}}, &types.TerminateSession{SessionId: []string{key}})
		for _, l := range t.listeners[key] {
			registry.RemoveHandler(l)
		}
		if own := t.registry[key]; own != nil {
			for _, obj := range own.AllReference("") {
				if l, ok := obj.(simulator.RegisterObject); ok {
					registry.RemoveHandler(namedListener{l})
				}
			}
		}
		delete(t.listeners, key)
		delete(t.registry, key)
	}
}

// namedListener wraps a listener so that only its reference is read: vcsim's own method copies the whole object while a
// concurrent call may be writing it.
type namedListener struct{ simulator.RegisterObject }

func (n namedListener) Reference() types.ManagedObjectReference {
	return reflect.ValueOf(n.RegisterObject).Elem().FieldByName("Self").Interface().(types.ManagedObjectReference)
}

// IsAdmin reports whether a call comes from within the process, whose session has no user.
func IsAdmin(ctx *simulator.Context) bool {
	return ctx.Session != nil && ctx.Session.UserName == ""
}
