// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// AllTasks stands for the method of every task.
const AllTasks = vcsim.AllTasks

// HoldTasks keeps tasks of the method (such as "CloneVM_Task") running, without
// effect, until ReleaseTasks. Tasks that run already are not concerned, nor are
// those that the Server starts itself.
func (s *Server) HoldTasks(method string) { s.tasks.Hold(method) }

// ReleaseTasks lets go the tasks of the method that are held and those to come.
func (s *Server) ReleaseTasks(method string) { s.tasks.Release(method) }

// DelayTasks makes tasks of the method take so long; zero ends it.
func (s *Server) DelayTasks(method string, d time.Duration) { s.tasks.Delay(method, d) }

// FailTasks makes the next n tasks of the method end in an error with the message;
// n below zero means all until n is set to zero.
func (s *Server) FailTasks(method string, n int, msg string) {
	s.FailTasksWith(method, n, vcsim.SystemFault(msg))
}

// FailTasksWith is FailTasks with a fault of the caller's choice.
func (s *Server) FailTasksWith(method string, n int, fault types.BaseMethodFault) {
	s.tasks.Fail(method, n, fault)
}

// RefuseCalls makes vCenter answer the next n calls of the method with a fault,
// before any task; n below zero means all until n is set to zero.
func (s *Server) RefuseCalls(method string, n int, fault types.BaseMethodFault) {
	s.tasks.Refuse(method, n, fault)
}

// ForgetTasks makes vCenter forget the tasks that have ended, as it does after some
// time: they leave the list of recent tasks, and asking for one answers
// ManagedObjectNotFound.
func (s *Server) ForgetTasks() { s.tasks.Forget() }

// RunningTasks returns the tasks that have not ended, as "CloneVM_Task task-12".
func (s *Server) RunningTasks() []string { return s.tasks.Running() }
