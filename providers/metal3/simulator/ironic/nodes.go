// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/uuid"
)

// document is a JSON object.
type document map[string]any

// node is a node of the API, with its operations in progress.
type node struct {
	fields  document
	machine *machine
	// step is the change of the provision state in progress, power that of the power state; nil if no change is in progress.
	step, power *time.Timer
	// unanswered is the number of consecutive polls without a response of the BMC.
	unanswered int
	inspected  bool
}

type port struct {
	UUID       string `json:"uuid"`
	NodeUUID   string `json:"node_uuid"`
	Address    string `json:"address"`
	PXEEnabled bool   `json:"pxe_enabled"`
}

// internal returns the attributes that clients cannot patch.
func internal() []string {
	return []string{
		"uuid", "provision_state", "target_provision_state", "power_state", "target_power_state", "last_error", "maintenance_reason", "fault",
		"reservation", "created_at", "updated_at", "provision_updated_at",
	}
}

func (n *node) text(key string) string { value, _ := n.fields[key].(string); return value }

func (n *node) flag(key string) bool { value, _ := n.fields[key].(bool); return value }

// set stores values; an empty string is stored as null.
func (n *node) set(values document) {
	for key, value := range values {
		if value == "" {
			value = nil
		}
		n.fields[key] = value
	}
	n.fields["updated_at"] = timestamp()
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339) }

// shown returns the fields of the node without secrets.
func (n *node) shown() document {
	fields := maps.Clone(n.fields)
	if info, _ := fields["driver_info"].(map[string]any); info != nil {
		info = maps.Clone(info)
		for key := range info {
			if strings.Contains(key, "password") {
				info[key] = "******"
			}
		}
		fields["driver_info"] = info
	}
	if n.busy() {
		fields["reservation"] = "simulated"
	}
	return fields
}

// busy reports whether the conductor has locked the node.
func (n *node) busy() bool {
	switch n.text("provision_state") {
	case verifying, adopting, inspecting, cleaning, deploying, deleting:
		return true
	}
	return n.power != nil
}

func (s *Server) find(id string) (*node, error) {
	if n := s.nodes[id]; n != nil {
		return n, nil
	}
	for _, n := range s.nodes {
		if n.text("name") == id {
			return n, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "Node %s could not be found.", id)
}

// nodeHandler handles a request about a node.
type nodeHandler func(*Server, *node, request) (answer, error)

func (s *Server) withNode(handle nodeHandler) handler {
	return func(r request) (answer, error) {
		n, err := s.find(r.PathValue("node"))
		if err != nil {
			return answer{}, err
		}
		return handle(s, n, r)
	}
}

// withFreeNode handles requests that need the lock of the node.
func (s *Server) withFreeNode(handle nodeHandler) handler {
	return s.withNode(func(s *Server, n *node, r request) (answer, error) {
		if n.busy() {
			return answer{}, refuse(http.StatusConflict, "Node %s is locked by host simulated, please retry after the current operation is completed.", n.text("uuid"))
		}
		return handle(s, n, r)
	})
}

func (s *Server) createNode(r request) (answer, error) {
	name, _ := r.document["name"].(string)
	if _, err := s.find(name); err == nil || name == "" {
		return answer{}, refuse(http.StatusConflict, "A node with name %q already exists, or it has none.", name)
	}
	n := &node{fields: document{
		"provision_state": enroll, "target_provision_state": nil, "power_state": nil, "target_power_state": nil, "last_error": nil,
		"maintenance": false, "maintenance_reason": nil, "fault": nil, "reservation": nil, "instance_uuid": nil, "automated_clean": nil,
		"instance_info": map[string]any{}, "properties": map[string]any{}, "driver_info": map[string]any{}, "created_at": timestamp(),
	}}
	n.set(r.document)
	n.set(document{"uuid": uuid.NewString()})
	n.machine = s.machine(name)
	s.nodes[n.text("uuid")] = n
	return answer{http.StatusCreated, n.shown()}, nil
}

func (s *Server) listNodes(request) (answer, error) {
	list := []document{}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		list = append(list, s.nodes[id].shown())
	}
	return answer{http.StatusOK, document{"nodes": list}}, nil
}

func (s *Server) getNode(n *node, _ request) (answer, error) {
	return answer{http.StatusOK, n.shown()}, nil
}

// patchNode applies a JSON patch.
func (s *Server) patchNode(n *node, r request) (answer, error) {
	patch, err := jsonpatch.DecodePatch(r.body)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, "Invalid patch: %s", err)
	}
	for _, operation := range patch {
		path, err := operation.Path()
		if root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); err != nil || slices.Contains(internal(), root) {
			return answer{}, refuse(http.StatusBadRequest, "%q is an internal attribute and can not be updated", path)
		}
	}
	before, err := json.Marshal(n.fields)
	if err != nil {
		return answer{}, err
	}
	options := jsonpatch.NewApplyOptions()
	options.EnsurePathExistsOnAdd = true
	after, err := patch.ApplyWithOptions(before, options)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, "Couldn't apply patch: %s", err)
	}
	fields := document{}
	if err := json.Unmarshal(after, &fields); err != nil {
		return answer{}, err
	}
	if name, _ := fields["name"].(string); name != n.text("name") {
		n.machine = s.machine(name)
	}
	n.fields = fields
	n.set(nil)
	return answer{http.StatusOK, n.shown()}, nil
}

// deleteNode deletes a node without changing its machine.
func (s *Server) deleteNode(n *node, _ request) (answer, error) {
	switch state := n.text("provision_state"); {
	case state == available || state == manageable || state == enroll || n.flag("maintenance"):
	default:
		return answer{}, refuse(http.StatusConflict, "Can not delete node %q while it is in provision state %q.", n.text("uuid"), state)
	}
	if n.step != nil {
		n.step.Stop()
	}
	delete(s.nodes, n.text("uuid"))
	s.ports = slices.DeleteFunc(s.ports, func(p port) bool { return p.NodeUUID == n.text("uuid") })
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) setMaintenance(n *node, r request) (answer, error) {
	n.set(document{"maintenance": true, "maintenance_reason": r.document["reason"]})
	return answer{status: http.StatusAccepted}, nil
}

func (s *Server) endMaintenance(n *node, _ request) (answer, error) {
	n.set(document{"maintenance": false, "maintenance_reason": nil, "fault": nil})
	return answer{status: http.StatusAccepted}, nil
}

func (s *Server) setRAID(n *node, r request) (answer, error) {
	n.set(document{"target_raid_config": map[string]any(r.document)})
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) validateNode(*node, request) (answer, error) {
	all := document{}
	for _, what := range []string{"boot", "deploy", "management", "power"} {
		all[what] = document{"result": true, "reason": ""}
	}
	return answer{http.StatusOK, all}, nil
}

// empty returns a handler for a list that is always empty.
func empty(what string) nodeHandler {
	return func(*Server, *node, request) (answer, error) {
		return answer{http.StatusOK, document{what: []document{}}}, nil
	}
}

func noMedia(*Server, *node, request) (answer, error) {
	return answer{http.StatusOK, []document{}}, nil
}

func (s *Server) listPorts(r request) (answer, error) {
	query, found := r.URL.Query(), []port{}
	for _, p := range s.ports {
		address, owner := query.Get("address"), query.Get("node_uuid")+query.Get("node")
		if (address == "" || strings.EqualFold(address, p.Address)) && (owner == "" || owner == p.NodeUUID) {
			found = append(found, p)
		}
	}
	return answer{http.StatusOK, document{"ports": found}}, nil
}

func (s *Server) createPort(r request) (answer, error) {
	p := port{}
	if err := json.Unmarshal(r.body, &p); err != nil {
		return answer{}, refuse(http.StatusBadRequest, "Invalid port: %s", err)
	}
	if slices.ContainsFunc(s.ports, func(other port) bool { return strings.EqualFold(other.Address, p.Address) }) {
		return answer{}, refuse(http.StatusConflict, "A port with MAC address %s already exists.", p.Address)
	}
	p.UUID = uuid.NewString()
	s.ports = append(s.ports, p)
	return answer{http.StatusCreated, p}, nil
}
