// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Category is a tag category.
type Category struct {
	Name, Cardinality, Description string
	// Types are the object types that its tags apply to; empty means all.
	Types []string
}

// Categories returns all tag categories, sorted by name.
func (s *Tagging) Categories() ([]Category, error) {
	var ids []string
	if err := s.admin.REST("GET", categoryPath, nil, &ids); err != nil {
		return nil, err
	}
	var out []Category
	for _, id := range ids {
		category, err := s.category(id)
		if err != nil {
			return nil, err
		}
		out = append(out, category)
	}
	slices.SortFunc(out, func(a, b Category) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Tag is a tag and the objects that it is attached to.
type Tag struct {
	Category, Name string
	// On lists inventory paths, such as "/dc/host/cluster".
	On []string
}

// Tags returns all tags, sorted by name, with the inventory paths of the objects that they are attached to.
func (s *Tagging) Tags() ([]Tag, error) {
	var ids []string
	if err := s.admin.REST("GET", tagPath, nil, &ids); err != nil {
		return nil, err
	}
	var out []Tag
	for _, id := range ids {
		var t tagModel
		if err := s.admin.REST("GET", tagPath+"/id:"+id, nil, &t); err != nil {
			return nil, err
		}
		var on []struct{ Type, ID string }
		if err := s.admin.REST("POST", associationPath+"/id:"+id+"?~action=list-attached-objects", nil, &on); err != nil {
			return nil, err
		}
		tag := Tag{Category: s.categoryName(t.Category), Name: t.Name}
		for _, object := range on {
			if e, ok := s.inventory.Registry.Get(types.ManagedObjectReference{Type: object.Type, Value: object.ID}).(mo.Entity); ok {
				tag.On = append(tag.On, s.inventory.PathOf(e))
			}
		}
		slices.Sort(tag.On)
		out = append(out, tag)
	}
	slices.SortFunc(out, func(a, b Tag) int { return strings.Compare(a.Category+"/"+a.Name, b.Category+"/"+b.Name) })
	return out, nil
}

// Add creates a tag, and its category if necessary, as another client would.
func (s *Tagging) Add(tag Tag) error {
	categories, err := s.Categories()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(categories, func(c Category) bool { return c.Name == tag.Category }) {
		return s.CreateAll([]Tag{tag})
	}
	var ids []string
	if err := s.admin.REST("GET", categoryPath, nil, &ids); err != nil {
		return err
	}
	for _, id := range ids {
		if s.categoryName(id) != tag.Category {
			continue
		}
		var made string
		if err := s.admin.REST("POST", tagPath, map[string]any{"create_spec": map[string]any{"name": tag.Name, "category_id": id}}, &made); err != nil {
			return err
		}
		for _, path := range tag.On {
			if err := s.associate("attach", made, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// AllowSeveral makes a category allow several of its tags on an object, which cannot be reverted in vCenter.
func (s *Tagging) AllowSeveral(category string) error {
	var ids []string
	if err := s.admin.REST("GET", categoryPath, nil, &ids); err != nil {
		return err
	}
	for _, id := range ids {
		if s.categoryName(id) == category {
			return s.admin.REST("PATCH", categoryPath+"/id:"+id, map[string]any{"update_spec": map[string]any{"cardinality": "MULTIPLE"}}, nil)
		}
	}
	return fmt.Errorf("tag category %q does not exist", category)
}

// Delete deletes a tag, given as "category/name" or a unique name, and its attachments.
func (s *Tagging) Delete(tag string) error {
	id, err := s.ID(tag)
	if err != nil {
		return err
	}
	return s.admin.REST("DELETE", tagPath+"/id:"+id, nil, nil)
}

// ID returns the identifier (urn:vmomi:InventoryServiceTag:...) of a tag, given as "category/name" or a unique name.
func (s *Tagging) ID(tag string) (string, error) {
	category, name, qualified := strings.Cut(tag, "/")
	if !qualified {
		category, name = "", tag
	}
	var ids, found []string
	if err := s.admin.REST("GET", tagPath, nil, &ids); err != nil {
		return "", err
	}
	for _, id := range ids {
		var t tagModel
		if err := s.admin.REST("GET", tagPath+"/id:"+id, nil, &t); err != nil {
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

func (s *Tagging) categoryName(id string) string {
	var category struct {
		Name string `json:"name"`
	}
	_ = s.admin.REST("GET", categoryPath+"/id:"+id, nil, &category)
	return category.Name
}

// CreateAll creates tags, each with its category, and attaches them.
func (s *Tagging) CreateAll(tags []Tag) error {
	categories := map[string]string{}
	for _, tag := range tags {
		if _, ok := categories[tag.Category]; ok {
			continue
		}
		var id string
		err := s.admin.REST("POST", categoryPath, map[string]any{"create_spec": map[string]any{
			"name": tag.Category, "cardinality": "SINGLE", "associable_types": []string{},
		}}, &id)
		if err != nil {
			return fmt.Errorf("creating tag category %q: %w", tag.Category, err)
		}
		categories[tag.Category] = id
	}
	for _, tag := range tags {
		var id string
		err := s.admin.REST("POST", tagPath, map[string]any{"create_spec": map[string]any{
			"name": tag.Name, "category_id": categories[tag.Category],
		}}, &id)
		if err != nil {
			return fmt.Errorf("creating tag %q: %w", tag.Name, err)
		}
		for _, path := range tag.On {
			if err := s.associate("attach", id, path); err != nil {
				return fmt.Errorf("attaching tag %q: %w", tag.Name, err)
			}
		}
	}
	return nil
}

func (s *Tagging) associate(action, tagID, path string) error {
	e, err := s.inventory.ByPath(path)
	if err != nil {
		return err
	}
	ref := e.Reference()
	s.withEvents(ref, func() {
		err = s.admin.REST("POST", associationPath+"/id:"+tagID+"?~action="+action,
			map[string]any{"object_id": map[string]any{"type": ref.Type, "id": ref.Value}}, nil)
	})
	return err
}

// Change attaches a tag, given as for ID, to the object at an inventory path, or detaches it.
func (s *Tagging) Change(action, tag, path string) error {
	id, err := s.ID(tag)
	if err != nil {
		return err
	}
	return s.associate(action, id, path)
}
