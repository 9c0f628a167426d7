// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"

// StoragePolicy is a storage policy for virtual machines.
type StoragePolicy = vcsim.Policy

// AddPolicy creates or replaces a storage policy with this name: it gets a new identifier.
func (s *Server) AddPolicy(added StoragePolicy) { s.policies.Add(added) }

// RemovePolicy deletes the storage policy with this name.
func (s *Server) RemovePolicy(name string) { s.policies.Remove(name) }

// SetPolicyAccess grants or revokes the account's privilege StorageProfile.View.
func (s *Server) SetPolicyAccess(allowed bool) { s.policies.SetAccess(allowed) }
