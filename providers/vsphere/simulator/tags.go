// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"
)

// AttachTag attaches a tag of the layout, "category/name" or a name that is
// unique, to the object at an inventory path.
func (s *Server) AttachTag(tag, path string) error { return s.changeTag("attach", tag, path) }

// DetachTag is the opposite of AttachTag.
func (s *Server) DetachTag(tag, path string) error { return s.changeTag("detach", tag, path) }

func (s *Server) changeTag(action, tag, path string) error {
	id, err := s.TagID(tag)
	if err != nil {
		return err
	}
	return s.associate(action, id, path)
}

// TagID returns the identifier (urn:vmomi:InventoryServiceTag:...) of a tag,
// "category/name" or a name that is unique.
func (s *Server) TagID(tag string) (string, error) {
	category, name, qualified := strings.Cut(tag, "/")
	if !qualified {
		category, name = "", tag
	}
	var ids, found []string
	if err := s.admin.rest("GET", "/com/vmware/cis/tagging/tag", nil, &ids); err != nil {
		return "", err
	}
	for _, id := range ids {
		var t struct {
			Name     string `json:"name"`
			Category string `json:"category_id"`
		}
		if err := s.admin.rest("GET", "/com/vmware/cis/tagging/tag/id:"+id, nil, &t); err != nil {
			return "", err
		}
		if t.Name == name && (category == "" || s.categoryName(t.Category) == category) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d tags are named %q", len(found), tag)
	}
	return found[0], nil
}

func (s *Server) categoryName(id string) string {
	var category struct {
		Name string `json:"name"`
	}
	_ = s.admin.rest("GET", "/com/vmware/cis/tagging/category/id:"+id, nil, &category)
	return category.Name
}

// SetTagging says whether accounts have the privilege to attach tags. Without it
// vCenter refuses the call as a whole, and does not say which tag it is about.
func (s *Server) SetTagging(allowed bool) { s.tagging.forbidden.Store(!allowed) }

// tagging refuses what vCenter refuses of clients that attach tags, and vcsim
// does not.
type tagging struct {
	server    *Server
	next      http.Handler
	forbidden atomic.Bool
}

func (t *tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/tagging/tag-association") || r.URL.Query().Get("~action") != "attach-multiple-tags-to-object" {
		t.next.ServeHTTP(w, r)
		return
	}
	if t.forbidden.Load() {
		answerJSON(w, http.StatusForbidden, map[string]any{"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{}}})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var spec struct {
		Object struct{ Type, ID string } `json:"object_id"`
		Tags   []string                  `json:"tag_ids"`
	}
	if json.Unmarshal(body, &spec) == nil {
		if id := t.surplus(types.ManagedObjectReference{Type: spec.Object.Type, Value: spec.Object.ID}, spec.Tags); id != "" { //nolint:contextcheck // The server asks itself.
			answerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"success": false, "error_messages": []any{map[string]any{
				"id":              "cis.tagging.cardinality.violation.error",
				"default_message": "Tag " + id + " is of a category that allows one tag on an object, which has one",
				"args":            []string{id},
			}}}})
			return
		}
	}
	t.next.ServeHTTP(w, r)
}

// surplus returns a tag that is the second of its category on the object. All
// categories of a layout allow one.
func (t *tagging) surplus(object types.ManagedObjectReference, wanted []string) string {
	t.server.admin.tags.Lock()
	attached, _ := t.server.admin.tags.AttachedTags(object)
	t.server.admin.tags.Unlock()
	tagOf := map[string]string{} // by category
	for _, id := range append(attached, wanted...) {
		var tag struct {
			Category string `json:"category_id"`
		}
		if t.server.admin.rest("GET", "/com/vmware/cis/tagging/tag/id:"+id, nil, &tag) != nil {
			continue // there is none: vcsim says so
		}
		if other, ok := tagOf[tag.Category]; ok && other != id {
			return id
		}
		tagOf[tag.Category] = id
	}
	return ""
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
