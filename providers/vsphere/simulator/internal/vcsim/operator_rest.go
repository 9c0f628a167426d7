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
func (o *Operator) AttachedTags(ref types.ManagedObjectReference) []string {
	o.tags.Lock()
	defer o.tags.Unlock()
	ids, _ := o.tags.AttachedTags(ref)
	slices.Sort(ids)
	return ids
}

// DetachAll detaches all tags from an object.
func (o *Operator) DetachAll(ref types.ManagedObjectReference) {
	o.tags.Lock()
	defer o.tags.Unlock()
	ids, _ := o.tags.AttachedTags(ref)
	for _, id := range ids {
		o.tags.DetachTag(ref, id)
	}
}

// Expire ends the REST sessions.
func (o *Operator) Expire() {
	o.tags.Lock()
	defer o.tags.Unlock()
	clear(o.restSessions())
}

// LoggedIn reports whether the REST session exists.
func (o *Operator) LoggedIn(session string) bool {
	o.tags.Lock()
	defer o.tags.Unlock()
	_, ok := o.restSessions()[session]
	return ok
}

// restSessions returns the sessions of the REST service, which must be locked. They are only accessible through the exported
// field of vcsim's unexported handler.
func (o *Operator) restSessions() map[string]*rest.Session {
	return reflect.ValueOf(o.tags).Elem().FieldByName("Session").Interface().(map[string]*rest.Session)
}

// AnswerJSON writes the response to a REST call.
func AnswerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
