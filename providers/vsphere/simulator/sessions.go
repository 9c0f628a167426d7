// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"github.com/vmware/govmomi/simulator"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// ExpireSessions ends every SOAP and REST session, as vCenter does after a restart or an idle timeout. Pending long polls and all
// later calls fail with NotAuthenticated (REST: 401) until the client logs in again.
func (s *Server) ExpireSessions() {
	all := s.inventory.NewContext().Session.Get(s.inventory.Registry.SessionManager().Self).(*simulator.SessionManager)
	for _, session := range all.SessionList {
		s.sessions.Expire(session.Key)
	}
	s.endpoint.Waits.CancelAll(vcsim.ErrExpired)
	s.sessions.RemoveExpired(s.inventory.Registry, all)
	s.admin.ExpireSessions()
}

// Sessions returns the number of SOAP sessions of the account.
func (s *Server) Sessions() int {
	count := 0
	for _, session := range s.inventory.NewContext().Session.Get(s.inventory.Registry.SessionManager().Self).(*simulator.SessionManager).SessionList {
		if session.UserName == s.accounts.Username {
			count++
		}
	}
	return count
}

// SetPassword replaces the password. Existing sessions continue.
func (s *Server) SetPassword(password string) { s.accounts.SetPassword(password) }
