// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// Module is a cluster module.
type Module struct {
	UUID    string
	Cluster string   // name of its compute cluster
	VMs     []string // names of its members, sorted; references of deleted VMs
}

// Modules holds the cluster modules of a vCenter.
type Modules struct {
	inventory *vcsim.Inventory

	mu        sync.Mutex
	all       []*module
	forbidden bool
}

type module struct {
	uuid, cluster string
	members       map[string]bool
}

// NewModules returns Modules without any module.
func NewModules(i *vcsim.Inventory) *Modules { return &Modules{inventory: i} }

// All returns the modules in the order of their creation.
func (m *Modules) All() []Module {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Module
	for _, one := range m.all {
		view := Module{UUID: one.uuid, Cluster: m.inventory.NameOf(&types.ManagedObjectReference{Type: "ClusterComputeResource", Value: one.cluster})}
		for vm := range one.members {
			ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}
			if name := m.inventory.NameOf(&ref); name != "" {
				vm = name
			}
			view.VMs = append(view.VMs, vm)
		}
		slices.Sort(view.VMs)
		out = append(out, view)
	}
	return out
}

// SetAllowed sets whether accounts may create, change and delete modules.
func (m *Modules) SetAllowed(allowed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forbidden = !allowed
}

// Add creates a module without members in the compute cluster with this reference.
func (m *Modules) Add(cluster string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := &module{uuid: uuid.NewString(), cluster: cluster, members: map[string]bool{}}
	m.all = append(m.all, made)
	return made.uuid
}

// Remove deletes a module.
func (m *Modules) Remove(uuid string) (found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.all)
	m.all = slices.DeleteFunc(m.all, func(one *module) bool { return one.uuid == uuid })
	return len(m.all) < before
}

// RemoveVM removes a deleted VM from all modules.
func (m *Modules) RemoveVM(vm string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		delete(one.members, vm)
	}
}

func (m *Modules) isForbidden() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forbidden
}

// modulesPath is the path of the cluster modules API.
const modulesPath = "/rest/vcenter/cluster/modules"

// API serves cluster modules. It replaces vcsim's own, which calls vcsim over the network with its own account and keeps deleted
// members.
func (m *Modules) API(loggedIn func(session string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ours := strings.CutPrefix(r.URL.Path, modulesPath)
		switch {
		case !ours:
			next.ServeHTTP(w, r)
		case !loggedIn(r.Header.Get("vmware-api-session-id")):
			vcsim.AnswerJSON(w, http.StatusUnauthorized, map[string]any{"type": "com.vmware.vapi.std.errors.unauthenticated"})
		case r.Method != http.MethodGet && m.isForbidden():
			vcsim.AnswerJSON(w, http.StatusForbidden, map[string]any{"type": "com.vmware.vapi.std.errors.unauthorized"})
		case strings.HasPrefix(path, "/vm/"):
			m.serveMembers(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "/vm/"), "/members"))
		default:
			m.serveModules(w, r, strings.TrimPrefix(path, "/"))
		}
	})
}

func (m *Modules) serveModules(w http.ResponseWriter, r *http.Request, id string) {
	switch {
	case r.Method == http.MethodGet:
		m.mu.Lock()
		list := []map[string]string{}
		for _, one := range m.all {
			list = append(list, map[string]string{"module": one.uuid, "cluster": one.cluster})
		}
		m.mu.Unlock()
		vcsim.AnswerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"summaries": list}})
	case r.Method == http.MethodDelete && m.Remove(id):
		vcsim.AnswerJSON(w, http.StatusOK, map[string]any{})
	case r.Method == http.MethodPost && id == "":
		var body struct{ Spec struct{ Cluster string } }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if _, ok := vcsim.Get[*simulator.ClusterComputeResource](m.inventory, &types.ManagedObjectReference{Type: "ClusterComputeResource", Value: body.Spec.Cluster}); !ok {
			vcsim.AnswerJSON(w, http.StatusBadRequest, map[string]any{"type": "com.vmware.vapi.std.errors.invalid_argument"})
			return
		}
		vcsim.AnswerJSON(w, http.StatusOK, map[string]any{"value": m.Add(body.Spec.Cluster)})
	default:
		notFound(w)
	}
}

func (m *Modules) serveMembers(w http.ResponseWriter, r *http.Request, id string) {
	var body struct {
		VMs []string `json:"vms"`
	}
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	where := map[string]string{} // not under the lock of the modules, because VMs have their own locks
	for _, vm := range body.VMs {
		where[vm] = m.computeOf(vm)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.all, func(one *module) bool { return one.uuid == id })
	if i < 0 {
		notFound(w)
		return
	}
	one := m.all[i]
	if r.Method == http.MethodGet {
		vcsim.AnswerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"vms": slices.Sorted(maps.Keys(one.members))}})
		return
	}
	vcsim.AnswerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"success": one.change(r.URL.Query().Get("action"), body.VMs, where)}})
}

// change adds or removes members. A VM can be added only once, and only in its own compute cluster.
func (m *module) change(action string, vms []string, where map[string]string) (success bool) {
	for _, vm := range vms {
		if action == "add" && (m.members[vm] || where[vm] != m.cluster) || action == "remove" && !m.members[vm] {
			return false
		}
	}
	for _, vm := range vms {
		if action == "add" {
			m.members[vm] = true
		} else {
			delete(m.members, vm)
		}
	}
	return true
}

// computeOf returns the compute cluster of a VM, or "".
func (m *Modules) computeOf(vm string) string {
	found, ok := vcsim.Get[*simulator.VirtualMachine](m.inventory, &types.ManagedObjectReference{Type: "VirtualMachine", Value: vm})
	if !ok {
		return ""
	}
	cluster, ok := m.inventory.ClusterOf(found)
	if !ok {
		return ""
	}
	return cluster.Self.Value
}

func notFound(w http.ResponseWriter) {
	vcsim.AnswerJSON(w, http.StatusNotFound, map[string]any{"type": "com.vmware.vapi.std.errors.not_found"})
}
