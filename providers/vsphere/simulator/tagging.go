// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// SetTagging says whether accounts have the privilege to attach tags. Without it
// vCenter refuses the call as a whole, and does not say which tag it is about.
func (s *Server) SetTagging(allowed bool) { s.AllowTagging(allowed, "AttachTag") }

// AllowTagging says whether accounts have privileges of tagging, such as
// "CreateCategory", "EditCategory", "DeleteCategory", "CreateTag", "DeleteTag" and
// "AttachTag". What is refused for want of one does not say which.
func (s *Server) AllowTagging(allowed bool, privileges ...string) {
	s.tagging.allow(allowed, privileges)
}

// RefuseAttaching makes vCenter refuse the next n attachments of tags to single objects, each before anything is attached; n
// below zero means all until n is set to zero.
func (s *Server) RefuseAttaching(n int) { s.tagging.refuse(n) }

// Category is a tag category as vCenter has it.
type Category struct {
	Name, Cardinality, Description string
	// Types of objects that its tags are for; none means all.
	Types []string
}

// Categories returns all tag categories in the order of their names.
func (s *Server) Categories() ([]Category, error) {
	var ids []string
	if err := s.admin.rest("GET", categoryPath, nil, &ids); err != nil {
		return nil, err
	}
	var out []Category
	for _, id := range ids {
		category, err := s.tagging.category(id)
		if err != nil {
			return nil, err
		}
		out = append(out, category)
	}
	slices.SortFunc(out, func(a, b Category) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Tags returns all tags with the inventory paths of the objects that they are attached to, in the order of their names.
func (s *Server) Tags() ([]Tag, error) {
	var ids []string
	if err := s.admin.rest("GET", tagPath, nil, &ids); err != nil {
		return nil, err
	}
	var out []Tag
	for _, id := range ids {
		var t tagModel
		if err := s.admin.rest("GET", tagPath+"/id:"+id, nil, &t); err != nil {
			return nil, err
		}
		var on []struct{ Type, ID string }
		if err := s.admin.rest("POST", associationPath+"/id:"+id+"?~action=list-attached-objects", nil, &on); err != nil {
			return nil, err
		}
		tag := Tag{Category: s.categoryName(t.Category), Name: t.Name}
		for _, object := range on {
			if e, ok := s.registry.Get(types.ManagedObjectReference{Type: object.Type, Value: object.ID}).(mo.Entity); ok {
				tag.On = append(tag.On, s.pathOf(e))
			}
		}
		slices.Sort(tag.On)
		out = append(out, tag)
	}
	slices.SortFunc(out, func(a, b Tag) int { return strings.Compare(a.Category+"/"+a.Name, b.Category+"/"+b.Name) })
	return out, nil
}

// MakeTag makes a tag, and its category if there is none, as somebody else would.
func (s *Server) MakeTag(tag Tag) error {
	categories, err := s.Categories()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(categories, func(c Category) bool { return c.Name == tag.Category }) {
		return s.buildTags([]Tag{tag})
	}
	var ids []string
	if err := s.admin.rest("GET", categoryPath, nil, &ids); err != nil {
		return err
	}
	for _, id := range ids {
		if s.categoryName(id) != tag.Category {
			continue
		}
		var made string
		if err := s.admin.rest("POST", tagPath, map[string]any{"create_spec": map[string]any{"name": tag.Name, "category_id": id}}, &made); err != nil {
			return err
		}
		for _, path := range tag.On {
			if err := s.attach(made, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// AllowSeveralTags has a category allow several of its tags on an object, which vCenter lets nobody take back.
func (s *Server) AllowSeveralTags(category string) error {
	var ids []string
	if err := s.admin.rest("GET", categoryPath, nil, &ids); err != nil {
		return err
	}
	for _, id := range ids {
		if s.categoryName(id) == category {
			return s.admin.rest("PATCH", categoryPath+"/id:"+id, map[string]any{"update_spec": map[string]any{"cardinality": "MULTIPLE"}}, nil)
		}
	}
	return fmt.Errorf("there is no tag category %q", category)
}

// DeleteTag deletes a tag, "category/name" or a name that is unique, and its attachments.
func (s *Server) DeleteTag(tag string) error {
	id, err := s.TagID(tag)
	if err != nil {
		return err
	}
	return s.admin.rest("DELETE", tagPath+"/id:"+id, nil, nil)
}

const (
	categoryPath    = "/com/vmware/cis/tagging/category"
	tagPath         = "/com/vmware/cis/tagging/tag"
	associationPath = "/com/vmware/cis/tagging/tag-association"
)

type tagModel struct {
	Name     string `json:"name"`
	Category string `json:"category_id"`
}

// tagging refuses what vCenter refuses of clients that make and attach tags, and
// vcsim does not.
type tagging struct {
	server *Server
	next   http.Handler

	mu      sync.Mutex
	denied  map[string]bool // privileges
	refused int             // attachments to come; below zero: no end
}

func (t *tagging) allow(allowed bool, privileges []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.denied == nil {
		t.denied = map[string]bool{}
	}
	for _, privilege := range privileges {
		t.denied[privilege] = !allowed
	}
}

func (t *tagging) refuse(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = n
}

// refuses reports whether a call fails: for a privilege, or because it is its turn.
func (t *tagging) refuses(privilege, action string) (forbidden, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused = action == "attach" && t.refused != 0
	if refused && t.refused > 0 {
		t.refused--
	}
	return t.denied[privilege], refused
}

// privilegeOf returns what a call to the tagging service takes; "" for reading.
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

func (t *tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	privilege, action := privilegeOf(r), r.URL.Query().Get("~action")
	if privilege == "" {
		t.next.ServeHTTP(w, r)
		return
	}
	forbidden, refused := t.refuses(privilege, action)
	switch {
	case forbidden:
		answerJSON(w, http.StatusForbidden, map[string]any{"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{}}})
		return
	case refused:
		answerJSON(w, http.StatusServiceUnavailable, map[string]any{"type": "com.vmware.vapi.std.errors.service_unavailable", "value": map[string]any{"messages": []any{}}})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if action == "attach" || action == "attach-multiple-tags-to-object" {
		if t.violated(w, r, body, action) { //nolint:contextcheck // The server asks itself.
			return
		}
	}
	t.next.ServeHTTP(w, r)
}

// violated refuses an attachment against the rules of the tag's category.
func (t *tagging) violated(w http.ResponseWriter, r *http.Request, body []byte, action string) bool {
	var spec struct {
		Object struct{ Type, ID string } `json:"object_id"`
		Tags   []string                  `json:"tag_ids"`
	}
	if json.Unmarshal(body, &spec) != nil {
		return false
	}
	if action == "attach" {
		spec.Tags = []string{r.URL.Path[strings.LastIndex(r.URL.Path, "/id:")+len("/id:"):]}
	}
	id, text := t.surplus(types.ManagedObjectReference{Type: spec.Object.Type, Value: spec.Object.ID}, spec.Tags)
	if id == "" {
		return false
	}
	if action == "attach" {
		answerJSON(w, http.StatusBadRequest, map[string]any{
			"type": "com.vmware.vapi.std.errors.invalid_argument", "value": map[string]any{"messages": []any{map[string]any{"default_message": text}}},
		})
		return true
	}
	answerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"success": false, "error_messages": []any{map[string]any{
		"id": "cis.tagging.cardinality.violation.error", "default_message": text, "args": []string{id},
	}}}})
	return true
}

// surplus returns a tag that cannot be attached, and why: it is the second of its category on the object, or not for such objects.
func (t *tagging) surplus(object types.ManagedObjectReference, wanted []string) (id, why string) {
	t.server.admin.tags.Lock()
	attached, _ := t.server.admin.tags.AttachedTags(object)
	t.server.admin.tags.Unlock()
	tagIn := map[string]string{} // by category
	for _, id := range append(attached, wanted...) {
		var tag tagModel
		if t.server.admin.rest("GET", tagPath+"/id:"+id, nil, &tag) != nil {
			continue // there is none: vcsim says so
		}
		category, err := t.category(tag.Category)
		if err != nil {
			continue
		}
		if len(category.Types) > 0 && !slices.Contains(category.Types, object.Type) {
			return id, fmt.Sprintf("Tag %s is of a category that is not for objects of type %s", id, object.Type)
		}
		if other, ok := tagIn[tag.Category]; ok && other != id && category.Cardinality == "SINGLE" {
			return id, "Tag " + id + " is of a category that allows one tag on an object, which has one"
		}
		tagIn[tag.Category] = id
	}
	return "", ""
}

func (t *tagging) category(id string) (Category, error) {
	var model struct {
		Name        string   `json:"name"`
		Cardinality string   `json:"cardinality"`
		Description string   `json:"description"`
		Types       []string `json:"associable_types"`
	}
	err := t.server.admin.rest("GET", categoryPath+"/id:"+id, nil, &model)
	return Category{Name: model.Name, Cardinality: model.Cardinality, Description: model.Description, Types: model.Types}, err
}
