// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/rest"

// SetTagging sets whether accounts have the privilege to attach tags. Without it vCenter rejects the call as a whole, without
// naming the tag.
func (s *Server) SetTagging(allowed bool) { s.AllowTagging(allowed, "AttachTag") }

// AllowTagging sets whether accounts have tagging privileges, such as "CreateCategory", "EditCategory", "DeleteCategory",
// "CreateTag", "DeleteTag" and "AttachTag". A rejection does not name the missing privilege.
func (s *Server) AllowTagging(allowed bool, privileges ...string) {
	s.tagging.Allow(allowed, privileges...)
}

// RefuseAttaching makes vCenter reject the next n attachments of tags to single objects, each before anything is attached; n
// below zero means all until n is set to zero.
func (s *Server) RefuseAttaching(n int) { s.tagging.FailAttachments(n) }

// Category is a tag category.
type Category = rest.Category

// Categories returns all tag categories, sorted by name.
func (s *Server) Categories() ([]Category, error) { return s.tagging.Categories() }

// Tags returns all tags, sorted by name, with the inventory paths of the objects that they are attached to.
func (s *Server) Tags() ([]Tag, error) { return s.tagging.Tags() }

// TagID returns the identifier (urn:vmomi:InventoryServiceTag:...) of a tag, given as "category/name" or a unique name.
func (s *Server) TagID(tag string) (string, error) { return s.tagging.ID(tag) }

// MakeTag creates a tag, and its category if necessary, as another client would.
func (s *Server) MakeTag(tag Tag) error { return s.tagging.Add(tag) }

// AllowSeveralTags makes a category allow several of its tags on an object, which cannot be reverted in vCenter.
func (s *Server) AllowSeveralTags(category string) error { return s.tagging.AllowSeveral(category) }

// DeleteTag deletes a tag, given as "category/name" or a unique name, and its attachments.
func (s *Server) DeleteTag(tag string) error { return s.tagging.Delete(tag) }

// AttachTag attaches a tag of the layout, given as "category/name" or a unique name, to the object at an inventory path.
func (s *Server) AttachTag(tag, path string) error { return s.tagging.Change("attach", tag, path) }

// DetachTag reverts AttachTag.
func (s *Server) DetachTag(tag, path string) error { return s.tagging.Change("detach", tag, path) }
