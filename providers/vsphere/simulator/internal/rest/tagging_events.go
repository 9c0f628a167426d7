// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"path"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	attachedEvent = "com.vmware.cis.tagging.attach"
	detachedEvent = "com.vmware.cis.tagging.detach"
)

// DisableEvents disables the events of tags.
func (s *Tagging) DisableEvents() { s.silent = true }

// withEvents calls change, which may change the tags of an object, and posts an event for each tag that was attached or detached.
func (s *Tagging) withEvents(object types.ManagedObjectReference, change func()) {
	before := s.admin.AttachedTags(object)
	change()
	after := s.admin.AttachedTags(object)
	for _, id := range after {
		if !slices.Contains(before, id) {
			s.post(attachedEvent, id, object)
		}
	}
	for _, id := range before {
		if !slices.Contains(after, id) {
			s.post(detachedEvent, id, object)
		}
	}
}

// post posts an event as vCenter does: it contains the names of the tag and the object, but not their identifiers.
func (s *Tagging) post(kind, id string, object types.ManagedObjectReference) {
	var tag tagModel
	if s.silent || s.admin.REST("GET", tagPath+"/id:"+id, nil, &tag) != nil {
		return
	}
	name := object.Value
	if e, ok := s.inventory.Registry.Get(object).(mo.Entity); ok {
		name = path.Base(s.inventory.PathOf(e))
	}
	root := s.admin.Client.ServiceContent.RootFolder // vcsim requires an object; vCenter sends none
	s.admin.PostEvent(&types.EventEx{
		EventTypeId: kind, Severity: "info", ObjectType: root.Type, ObjectId: root.Value,
		Arguments: []types.KeyAnyValue{{Key: "Tag", Value: tag.Name}, {Key: "Object", Value: name}, {Key: "User", Value: "administrator"}},
	})
}
