// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/propertycollector"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vimfault"
)

// ExpireSessions ends every SOAP and REST session, as vCenter does after a restart
// or an idle time. Long polls under way and all later calls fail with
// NotAuthenticated (REST: 401) until the client logs in again.
func (s *Server) ExpireSessions() {
	all := s.call().Session.Get(s.registry.SessionManager().Self).(*simulator.SessionManager)
	for _, session := range all.SessionList {
		s.sessions.expire(session.Key)
	}
	s.endpoint.Waits.CancelAll(propertycollector.ErrExpired)
	s.sessions.drop(s.registry, all)
	s.admin.expire()
}

// Sessions counts the SOAP sessions of the account.
func (s *Server) Sessions() int {
	count := 0
	for _, session := range s.call().Session.Get(s.registry.SessionManager().Self).(*simulator.SessionManager).SessionList {
		if session.UserName == s.accounts.username {
			count++
		}
	}
	return count
}

// expire ends the REST sessions. vcsim has no way in but the exported field of
// its unexported handler.
func (a *administrator) expire() {
	a.tags.Lock()
	defer a.tags.Unlock()
	field := reflect.ValueOf(a.tags).Elem().FieldByName("Session")
	clear(field.Interface().(map[string]*rest.Session))
}

// sessionTable knows the sessions and what each has registered.
type sessionTable struct {
	mu        sync.Mutex
	expired   map[string]bool
	registry  map[string]*simulator.Registry
	listeners map[string][]simulator.RegisterObject
}

func newSessionTable() *sessionTable {
	return &sessionTable{
		expired:   map[string]bool{},
		registry:  map[string]*simulator.Registry{},
		listeners: map[string][]simulator.RegisterObject{},
	}
}

// admit refuses what vCenter refuses without a session. vcsim would answer
// property reads without one, with the values left out, and a call that is under
// way while its session expires would bring the session back.
func (t *sessionTable) admit(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if ctx.Session == nil {
		switch method.Name {
		case "RetrieveProperties", "RetrievePropertiesEx":
			return vimfault.NotAuthenticated(method.This)
		}
		return nil
	}
	if isOperator(ctx) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := ctx.Session.Key
	if t.expired[key] {
		return vimfault.NotAuthenticated(method.This)
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

// listen registers an object that is told of changes as long as the session lasts.
func (t *sessionTable) listen(ctx *simulator.Context, l simulator.RegisterObject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners[ctx.Session.Key] = append(t.listeners[ctx.Session.Key], l)
	ctx.Map.AddHandler(l)
}

func (t *sessionTable) expire(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expired[key] = true
}

// drop takes the views, filters and collectors of expired sessions out of service.
func (t *sessionTable) drop(registry *simulator.Registry, manager *simulator.SessionManager) {
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
					registry.RemoveHandler(l)
				}
			}
		}
		delete(t.listeners, key)
		delete(t.registry, key)
	}
}
