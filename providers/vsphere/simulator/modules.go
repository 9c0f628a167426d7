// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/faultline-io/faultline/providers/vsphere/simulator/internal/rest"

// Module is a cluster module.
type Module = rest.Module

// Modules returns all cluster modules, in the order of their creation.
func (s *Server) Modules() []Module { return s.modules.All() }

// AddModule creates a module without members in a compute cluster, as another client would, and returns its UUID.
func (s *Server) AddModule(cluster string) (string, error) {
	c, err := s.inventory.Cluster(cluster)
	if err != nil {
		return "", err
	}
	return s.modules.Add(c.Self.Value), nil
}

// RemoveModule deletes a module, as another client would.
func (s *Server) RemoveModule(uuid string) { s.modules.Remove(uuid) }

// SetModules sets whether accounts may create, change and delete cluster modules.
func (s *Server) SetModules(allowed bool) { s.modules.SetAllowed(allowed) }
