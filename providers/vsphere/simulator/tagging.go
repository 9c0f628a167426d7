// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/rest"

// SetTagging says whether accounts have the privilege to attach tags. Without it
// vCenter refuses the call as a whole, and does not say which tag it is about.
func (s *Server) SetTagging(allowed bool) { s.AllowTagging(allowed, "AttachTag") }

// AllowTagging says whether accounts have privileges of tagging, such as
// "CreateCategory", "EditCategory", "DeleteCategory", "CreateTag", "DeleteTag" and
// "AttachTag". What is refused for want of one does not say which.
func (s *Server) AllowTagging(allowed bool, privileges ...string) {
	s.tagging.Allow(allowed, privileges...)
}

// RefuseAttaching makes vCenter refuse the next n attachments of tags to single objects, each before anything is attached; n
// below zero means all until n is set to zero.
func (s *Server) RefuseAttaching(n int) { s.tagging.Refuse(n) }

// Category is a tag category as vCenter has it.
type Category = rest.Category

// Categories returns all tag categories in the order of their names.
func (s *Server) Categories() ([]Category, error) { return s.tagging.Categories() }

// Tags returns all tags with the inventory paths of the objects that they are attached to, in the order of their names.
func (s *Server) Tags() ([]Tag, error) { return s.tagging.Tags() }

// TagID returns the identifier (urn:vmomi:InventoryServiceTag:...) of a tag,
// "category/name" or a name that is unique.
func (s *Server) TagID(tag string) (string, error) { return s.tagging.ID(tag) }

// MakeTag makes a tag, and its category if there is none, as somebody else would.
func (s *Server) MakeTag(tag Tag) error { return s.tagging.Add(tag) }

// AllowSeveralTags has a category allow several of its tags on an object, which vCenter lets nobody take back.
func (s *Server) AllowSeveralTags(category string) error { return s.tagging.AllowSeveral(category) }

// DeleteTag deletes a tag, "category/name" or a name that is unique, and its attachments.
func (s *Server) DeleteTag(tag string) error { return s.tagging.Delete(tag) }

// AttachTag attaches a tag of the layout, "category/name" or a name that is
// unique, to the object at an inventory path.
func (s *Server) AttachTag(tag, path string) error { return s.tagging.Change("attach", tag, path) }

// DetachTag is the opposite of AttachTag.
func (s *Server) DetachTag(tag, path string) error { return s.tagging.Change("detach", tag, path) }
