// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

// AttachedTags returns the identifiers of the tags of an object, sorted.
func (a *AdminClient) AttachedTags(ref types.ManagedObjectReference) []string {
	a.tags.Lock()
	defer a.tags.Unlock()
	ids, _ := a.tags.AttachedTags(ref)
	slices.Sort(ids)
	return ids
}

// DetachAll detaches all tags from an object.
func (a *AdminClient) DetachAll(ref types.ManagedObjectReference) {
	a.tags.Lock()
	defer a.tags.Unlock()
	ids, _ := a.tags.AttachedTags(ref)
	for _, id := range ids {
		a.tags.DetachTag(ref, id)
	}
}

// ExpireSessions ends the REST sessions.
func (a *AdminClient) ExpireSessions() {
	a.tags.Lock()
	defer a.tags.Unlock()
	clear(a.sessionsOfREST())
}

// LoggedIn reports whether the REST session exists.
func (a *AdminClient) LoggedIn(session string) bool {
	a.tags.Lock()
	defer a.tags.Unlock()
	_, ok := a.sessionsOfREST()[session]
	return ok
}

// sessionsOfREST returns the sessions of the REST service, which must be locked. They are only accessible through the exported
// field of vcsim's unexported handler.
func (a *AdminClient) sessionsOfREST() map[string]*rest.Session {
	return reflect.ValueOf(a.tags).Elem().FieldByName("Session").Interface().(map[string]*rest.Session)
}

// AnswerJSON writes the response to a REST call.
func AnswerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
