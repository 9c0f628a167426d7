// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"

// StoragePolicy is a storage policy for virtual machines.
type StoragePolicy = vcsim.Policy

// AddPolicy makes a storage policy, or one of that name another one: it gets another
// identifier.
func (s *Server) AddPolicy(added StoragePolicy) { s.policies.Add(added) }

// RemovePolicy deletes the storage policy of that name.
func (s *Server) RemovePolicy(name string) { s.policies.Remove(name) }

// SetPolicyAccess takes the privilege StorageProfile.View from the account, or gives it
// back.
func (s *Server) SetPolicyAccess(allowed bool) { s.policies.SetAccess(allowed) }
