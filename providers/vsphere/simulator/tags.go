// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
