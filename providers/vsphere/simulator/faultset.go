// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"strconv"
	"time"
)

// Implementations of the entries of Faults. Each function sets or clears its fault.

const (
	slowTask   = 1500 * time.Millisecond
	slowAnswer = 50 * time.Millisecond
)

func setSlow(s *Server, on bool, _ ...string) error {
	task, answer := slowTask, slowAnswer
	if !on {
		task, answer = 0, 0
	}
	s.DelayTasks(AllTasks, task)
	s.SetDelay(answer)
	return nil
}

// setFailing makes the next task of the method fail, because failed tasks are retried.
func setFailing(s *Server, on bool, args ...string) error {
	s.FailTasks(args[0], times(on, 1), "An error occurred while communicating with the remote host.")
	return nil
}

// setLostAnswers loses the next responses to a call, or all.
func setLostAnswers(s *Server, on bool, args ...string) error {
	n := -1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			return fmt.Errorf("parsing the number of responses to lose: %w", err)
		}
	}
	s.LoseAnswers(args[0], times(on, n))
	return nil
}

func setOverloaded(s *Server, on bool, args ...string) error {
	s.OverloadCalls(args[0], times(on, -1))
	return nil
}

// times returns how many times a fault occurs: zero if it is cleared.
func times(on bool, n int) int {
	if !on {
		return 0
	}
	return n
}

// Arguments of setRestart.
const (
	loseSessions    = "sessions"
	loseTasks       = "tasks"
	loseConnections = "connections"
	loseEverything  = "everything"
)

func setRestart(s *Server, on bool, args ...string) error {
	if !on {
		s.SetDown(false)
		return nil
	}
	switch args[0] {
	case loseSessions:
		s.ExpireSessions()
	case loseTasks:
		s.ForgetTasks()
	case loseConnections:
		s.SetDown(true)
	case loseEverything:
		s.SetDown(true)
		s.ExpireSessions()
		s.ForgetTasks()
	default:
		return fmt.Errorf("what a restart loses must be %s, %s, %s or %s, not %q", loseSessions, loseTasks, loseConnections, loseEverything, args[0])
	}
	return nil
}

func setHidden(s *Server, on bool, args ...string) error {
	if on {
		return s.HideVM(args[0])
	}
	return s.ShowVM(args[0])
}

func setLostHosts(s *Server, on bool, args ...string) error {
	if on {
		return s.DisconnectHosts(args[0], args[1:]...)
	}
	return s.ReconnectHosts(args[0], args[1:]...)
}

func setFullHosts(s *Server, on bool, args ...string) error {
	return s.SetFull(args[0], on, args[1:]...)
}

func setLostDatastore(s *Server, on bool, args ...string) error {
	if on {
		return s.RemoveDatastore(args[0], args[1])
	}
	return s.RestoreDatastore(args[0], args[1])
}

func setHeld(s *Server, on bool, args ...string) error {
	if on {
		s.HoldTasks(args[0])
	} else {
		s.ReleaseTasks(args[0])
	}
	return nil
}

// taskMethods returns the methods of the tasks in a machine's lifecycle.
func taskMethods() []string {
	return []string{"CloneVM_Task", "ReconfigVM_Task", "ReconfigureComputeResource_Task", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"}
}

func eachTaskMethod(*Server) [][]string {
	var targets [][]string
	for _, method := range taskMethods() {
		targets = append(targets, []string{method})
	}
	return targets
}

// eachAnswer returns the calls that start tasks and some of those that read, each with one and with two responses to lose.
func eachAnswer(*Server) [][]string {
	var targets [][]string
	for _, call := range append(taskMethods(), "RetrievePropertiesEx", "WaitForUpdatesEx", "Login",
		"REST POST /rest/com/vmware/cis/tagging/tag-association?~action=attach-multiple-tags-to-object") {
		targets = append(targets, []string{call, "1"}, []string{call, "2"})
	}
	return targets
}

func eachRestart(*Server) [][]string {
	return [][]string{{loseSessions}, {loseTasks}, {loseConnections}, {loseEverything}}
}

// eachVM returns the references of the VMs, because names need not be unique.
func eachVM(s *Server) [][]string {
	var targets [][]string
	for _, vm := range s.VMs() {
		targets = append(targets, []string{vm.Ref})
	}
	return targets
}

// eachHostName returns the hosts with the inventory paths of their clusters.
func eachHostName(s *Server) [][]string {
	var targets [][]string
	for _, cluster := range s.inventory.Clusters() {
		for _, host := range s.drs.Hosts(cluster) {
			targets = append(targets, []string{s.inventory.PathOf(cluster), host.Name})
		}
	}
	return targets
}
