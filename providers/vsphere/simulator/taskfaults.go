// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// AllTasks matches the methods of all tasks.
const AllTasks = vcsim.AllTasks

// HoldTasks keeps tasks of the method (such as "CloneVM_Task") running without effect, until ReleaseTasks. Tasks that are already
// running and tasks of the Server itself are not affected.
func (s *Server) HoldTasks(method string) { s.tasks.Hold(method) }

// ReleaseTasks releases the held tasks of the method and stops holding new ones.
func (s *Server) ReleaseTasks(method string) { s.tasks.Release(method) }

// DelayTasks delays tasks of the method; zero removes the delay.
func (s *Server) DelayTasks(method string, d time.Duration) { s.tasks.Delay(method, d) }

// FailTasks makes the next n tasks of the method fail with the message; n below zero means all until n is set to zero.
func (s *Server) FailTasks(method string, n int, msg string) {
	s.FailTasksWith(method, n, vcsim.SystemFault(msg))
}

// FailTasksWith is FailTasks with a given fault.
func (s *Server) FailTasksWith(method string, n int, fault types.BaseMethodFault) {
	s.tasks.Fail(method, n, fault)
}

// RefuseCalls makes vCenter respond to the next n calls of the method with a fault, before a task is created; n below zero means
// all until n is set to zero.
func (s *Server) RefuseCalls(method string, n int, fault types.BaseMethodFault) {
	s.tasks.Refuse(method, n, fault)
}

// ForgetTasks removes ended tasks, as vCenter does after some time: they leave the list of recent tasks, and reading one returns
// ManagedObjectNotFound.
func (s *Server) ForgetTasks() { s.tasks.Forget() }

// RunningTasks returns the tasks that have not ended, such as "CloneVM_Task task-12".
func (s *Server) RunningTasks() []string { return s.tasks.Running() }
