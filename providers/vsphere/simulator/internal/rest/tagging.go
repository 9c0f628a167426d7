// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

const (
	categoryPath    = "/com/vmware/cis/tagging/category"
	tagPath         = "/com/vmware/cis/tagging/tag"
	associationPath = "/com/vmware/cis/tagging/tag-association"
)

type tagModel struct {
	Name     string `json:"name"`
	Category string `json:"category_id"`
}

// Tagging serves the tags of a vCenter. It rejects what vCenter rejects, and vcsim does not, when clients create and attach tags.
type Tagging struct {
	admin     *vcsim.AdminClient
	inventory *vcsim.Inventory
	next      http.Handler
	silent    bool

	mu      sync.Mutex
	denied  map[string]bool // privileges
	refused int             // attachments to reject; below zero means all
}

// NewTagging serves tags with the server's own session; other requests are passed to next.
func NewTagging(admin *vcsim.AdminClient, i *vcsim.Inventory, next http.Handler) *Tagging {
	return &Tagging{admin: admin, inventory: i, next: next}
}

// Allow sets whether accounts have the privileges.
func (s *Tagging) Allow(allowed bool, privileges ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.denied == nil {
		s.denied = map[string]bool{}
	}
	for _, privilege := range privileges {
		s.denied[privilege] = !allowed
	}
}

// FailAttachments makes vCenter reject the next n attachments to single objects; n below zero means all.
func (s *Tagging) FailAttachments(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = n
}

// check reports whether a call fails, because of a missing privilege or an injected fault.
func (s *Tagging) check(privilege, action string) (forbidden, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused = action == "attach" && s.refused != 0
	if refused && s.refused > 0 {
		s.refused--
	}
	return s.denied[privilege], refused
}

// privilegeOf returns the privilege that a call to the tagging service requires; "" for reading.
func privilegeOf(r *http.Request) string {
	action := r.URL.Query().Get("~action")
	verb := map[string]string{http.MethodPost: "Create", http.MethodPatch: "Edit", http.MethodDelete: "Delete"}[r.Method]
	switch {
	case strings.Contains(r.URL.Path, associationPath):
		if strings.HasPrefix(action, "attach") || strings.HasPrefix(action, "detach") {
			return "AttachTag"
		}
	case verb == "" || action != "":
	case strings.Contains(r.URL.Path, categoryPath):
		return verb + "Category"
	case strings.Contains(r.URL.Path, tagPath):
		return verb + "Tag"
	}
	return ""
}

func (s *Tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	privilege, action := privilegeOf(r), r.URL.Query().Get("~action")
	if privilege == "" {
		s.next.ServeHTTP(w, r)
		return
	}
	forbidden, refused := s.check(privilege, action)
	switch {
	case forbidden:
		vcsim.AnswerJSON(w, http.StatusForbidden, map[string]any{"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{}}})
		return
	case refused:
		vcsim.AnswerJSON(w, http.StatusServiceUnavailable, map[string]any{"type": "com.vmware.vapi.std.errors.service_unavailable", "value": map[string]any{"messages": []any{}}})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if action == "attach" || action == "attach-multiple-tags-to-object" {
		if s.rejectViolation(w, r, body, action) {
			return
		}
	}
	var spec attachment
	if json.Unmarshal(body, &spec) != nil || spec.Object.ID == "" {
		s.next.ServeHTTP(w, r)
		return
	}
	s.withEvents(spec.reference(), func() { s.next.ServeHTTP(w, r) })
}

// attachment is a request to attach or detach tags.
type attachment struct {
	Object struct{ Type, ID string } `json:"object_id"`
	Tags   []string                  `json:"tag_ids"`
}

func (a attachment) reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: a.Object.Type, Value: a.Object.ID}
}

// rejectViolation rejects an attachment that violates the rules of the tag's category.
func (s *Tagging) rejectViolation(w http.ResponseWriter, r *http.Request, body []byte, action string) bool {
	var spec attachment
	if json.Unmarshal(body, &spec) != nil {
		return false
	}
	if action == "attach" {
		spec.Tags = []string{r.URL.Path[strings.LastIndex(r.URL.Path, "/id:")+len("/id:"):]}
	}
	id, text := s.violation(spec.reference(), spec.Tags)
	if id == "" {
		return false
	}
	if action == "attach" {
		vcsim.AnswerJSON(w, http.StatusBadRequest, map[string]any{
			"type": "com.vmware.vapi.std.errors.invalid_argument", "value": map[string]any{"messages": []any{map[string]any{"default_message": text}}},
		})
		return true
	}
	vcsim.AnswerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"success": false, "error_messages": []any{map[string]any{
		"id": "cis.tagging.cardinality.violation.error", "default_message": text, "args": []string{id},
	}}}})
	return true
}

// violation returns a tag that cannot be attached, and why: it is the second of its category on the object, or its category does
// not apply to the type of the object.
func (s *Tagging) violation(object types.ManagedObjectReference, wanted []string) (id, why string) {
	tagIn := map[string]string{} // by category
	for _, id := range append(s.admin.AttachedTags(object), wanted...) {
		var tag tagModel
		if s.admin.REST("GET", tagPath+"/id:"+id, nil, &tag) != nil {
			continue // it does not exist: vcsim reports that
		}
		category, err := s.category(tag.Category)
		if err != nil {
			continue
		}
		if len(category.Types) > 0 && !slices.Contains(category.Types, object.Type) {
			return id, fmt.Sprintf("The category of tag %s does not apply to objects of type %s", id, object.Type)
		}
		if other, ok := tagIn[tag.Category]; ok && other != id && category.Cardinality == "SINGLE" {
			return id, "The category of tag " + id + " allows only one tag per object, and the object already has one"
		}
		tagIn[tag.Category] = id
	}
	return "", ""
}

func (s *Tagging) category(id string) (Category, error) {
	var model struct {
		Name        string   `json:"name"`
		Cardinality string   `json:"cardinality"`
		Description string   `json:"description"`
		Types       []string `json:"associable_types"`
	}
	err := s.admin.REST("GET", categoryPath+"/id:"+id, nil, &model)
	return Category{Name: model.Name, Cardinality: model.Cardinality, Description: model.Description, Types: model.Types}, err
}
