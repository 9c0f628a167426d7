// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Ironic's provision states.
const (
	enroll        = "enroll"
	verifying     = "verifying"
	manageable    = "manageable"
	inspecting    = "inspecting"
	inspectWait   = "inspect wait"
	inspectFailed = "inspect failed"
	cleaning      = "cleaning"
	cleanWait     = "clean wait"
	cleanFailed   = "clean failed"
	available     = "available"
	deploying     = "deploying"
	deployWait    = "wait call-back"
	deployFailed  = "deploy failed"
	active        = "active"
	deleting      = "deleting"
	failed        = "error"
	adopting      = "adopting"
	adoptFailed   = "adopt failed"
)

const unreachable = "unable to reach the BMC"

func (s *Server) changeProvisionState(n *node, r request) (answer, error) {
	verb, _ := r.document["target"].(string)
	// Ironic rejects these operations in maintenance by default.
	if n.flag("maintenance") && slices.Contains([]string{"active", "rebuild", "clean"}, verb) {
		return answer{}, refuse(http.StatusBadRequest, "The %s operation can't be performed on node %s because it's in maintenance mode.", verb, n.text("uuid"))
	}
	begin, from := s.verb(verb)
	if begin == nil || !slices.Contains(from, n.text("provision_state")) {
		return answer{}, refuse(http.StatusBadRequest, "The requested action %q can not be performed on node %q while it is in state %q.",
			verb, n.text("uuid"), n.text("provision_state"))
	}
	if err := begin(n, r); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted}, nil
}

// verb returns the operation for a target state, and the states from which it is allowed.
func (s *Server) verb(name string) (begin func(*node, request) error, from []string) {
	switch name {
	case "manage":
		return s.manage, []string{enroll, available, cleanFailed, inspectFailed, adoptFailed}
	case "inspect":
		return s.inspect, []string{manageable, inspectFailed}
	case "provide":
		return s.provide, []string{manageable}
	case "clean":
		return s.cleanByHand, []string{manageable}
	case "adopt":
		return s.adopt, []string{manageable, adoptFailed}
	case "active":
		return s.deploy, []string{available, deployFailed}
	case "deleted":
		return s.tearDown, []string{active, deployFailed, deployWait, failed}
	case "abort":
		return s.abort, []string{inspectWait, cleanWait}
	}
	return nil, nil
}

// enter moves a node to a transitional state, and calls then after a delay, unless another step begins before.
func (s *Server) enter(n *node, state, target string, after time.Duration, then func()) {
	n.set(document{"provision_state": state, "target_provision_state": target, "provision_updated_at": timestamp()})
	var step *time.Timer
	step = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n.step == step {
			n.step = nil
			then()
		}
	})
	n.step = step
}

// settle leaves a node in a stable state.
func (s *Server) settle(n *node, state, lastError string) {
	if n.step != nil {
		n.step.Stop()
		n.step = nil
	}
	n.set(document{"provision_state": state, "target_provision_state": nil, "last_error": lastError, "provision_updated_at": timestamp()})
}

func (s *Server) manage(n *node, _ request) error {
	if n.text("provision_state") != enroll {
		s.settle(n, manageable, "")
		return nil
	}
	n.set(document{"last_error": nil})
	s.enter(n, verifying, manageable, s.delays.Step, func() {
		if message, failing := n.fails(Verifying); failing {
			s.settle(n, enroll, fmt.Sprintf("Failed to get power state for node %s. Error: %s", n.text("uuid"), message))
			return
		}
		s.settle(n, manageable, "")
		n.showPower()
	})
	return nil
}

func (s *Server) inspect(n *node, _ request) error {
	s.enter(n, inspecting, manageable, s.delays.Step, func() {
		s.boot(n)
		s.enter(n, inspectWait, manageable, s.delays.Inspecting, func() {
			if message, failing := n.fails(Inspecting); failing {
				s.settle(n, inspectFailed, message)
				return
			}
			n.inspected = true
			s.switchOff(n)
			s.settle(n, manageable, "")
		})
	})
	return nil
}

func (s *Server) provide(n *node, _ request) error {
	s.clean(n, available)
	return nil
}

func (s *Server) cleanByHand(n *node, _ request) error {
	s.eraseThen(n, manageable)
	return nil
}

// clean erases a machine before it enters the target state, unless automated cleaning is disabled.
func (s *Server) clean(n *node, target string) {
	if automated, set := n.fields["automated_clean"].(bool); set && !automated {
		s.settle(n, target, "")
		return
	}
	s.eraseThen(n, target)
}

func (s *Server) eraseThen(n *node, target string) {
	s.enter(n, cleaning, target, s.delays.Step, func() {
		s.boot(n)
		s.enter(n, cleanWait, target, s.delays.Cleaning, func() {
			if message, failing := n.fails(Cleaning); failing {
				n.set(document{"maintenance": true, "maintenance_reason": message, "fault": "clean failure"})
				s.settle(n, cleanFailed, message)
				return
			}
			s.change(n, func(m *machine) { m.disk = nil })
			s.switchOff(n)
			s.settle(n, target, "")
		})
	})
}

// adopt takes over a machine without changing it.
func (s *Server) adopt(n *node, _ request) error {
	s.enter(n, adopting, active, s.delays.Step, func() { s.settle(n, active, "") })
	return nil
}

// deploy writes an image and the config drive to a machine, and boots it.
func (s *Server) deploy(n *node, r request) error {
	drive, err := configDrive(r.body)
	if err != nil {
		return refuse(http.StatusBadRequest, "Invalid config drive: %s", err)
	}
	n.set(document{"instance_uuid": n.text("uuid"), "last_error": nil})
	s.enter(n, deploying, active, s.delays.Step, func() {
		s.boot(n)
		s.enter(n, deployWait, active, s.delays.Deploying, func() {
			if message, failing := n.fails(Deploying); failing {
				s.switchOff(n)
				s.settle(n, deployFailed, message)
				return
			}
			s.change(n, func(m *machine) { m.ramdisk, m.disk, m.on = false, drive, true })
			s.settle(n, active, "")
		})
	})
	return nil
}

func configDrive(body []byte) (*ConfigDrive, error) {
	asked := struct {
		ConfigDrive struct {
			UserData    json.RawMessage `json:"user_data"`
			MetaData    map[string]any  `json:"meta_data"`
			NetworkData map[string]any  `json:"network_data"`
		} `json:"configdrive"`
	}{}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	drive := &ConfigDrive{MetaData: asked.ConfigDrive.MetaData, NetworkData: asked.ConfigDrive.NetworkData}
	// User data is a string, or an object that is written as JSON.
	if err := json.Unmarshal(asked.ConfigDrive.UserData, &drive.UserData); err != nil {
		drive.UserData = string(asked.ConfigDrive.UserData)
	}
	return drive, nil
}

// tearDown powers a machine off and cleans it.
func (s *Server) tearDown(n *node, _ request) error {
	s.enter(n, deleting, available, s.delays.Step, func() {
		n.set(document{"instance_info": map[string]any{}, "instance_uuid": nil})
		if message, failing := n.fails(Power); failing {
			s.settle(n, failed, "Failed to tear down: Failed to change power state to 'power off'. Error: "+message)
			return
		}
		s.switchOff(n)
		s.clean(n, available)
	})
	return nil
}

// abort aborts the work of the ramdisk. Ironic keeps the target state of an aborted inspection.
func (s *Server) abort(n *node, _ request) error {
	if n.text("provision_state") == inspectWait {
		s.settle(n, inspectFailed, "Inspection was aborted by request.")
		n.set(document{"target_provision_state": manageable})
		return nil
	}
	s.settle(n, cleanFailed, "Clean operation aborted by operator")
	return nil
}
