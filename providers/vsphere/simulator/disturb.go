// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// SetDelay makes every answer of this server so much late, including those under
// way. The effect of a call is not delayed, only its answer.
func (s *Server) SetDelay(d time.Duration) { s.front.latency.set(d) }

// SetDown resets every connection, and those that come, until it is called with
// false. Sessions and tasks go on meanwhile.
func (s *Server) SetDown(down bool) { s.front.listener.setDown(down) }

// forgetVM takes a VM that has gone out of groups and off tags, as vCenter does,
// which vcsim does not.
func (s *Server) forgetVM(ref types.ManagedObjectReference) {
	s.guests.cancel(ref)
	s.leaveGroups(ref)
	s.admin.tags.Lock()
	defer s.admin.tags.Unlock()
	ids, _ := s.admin.tags.AttachedTags(ref)
	for _, id := range ids {
		s.admin.tags.DetachTag(ref, id)
	}
}

