// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

// Module is a cluster module.
type Module struct {
	UUID    string
	Cluster string   // name of its compute cluster
	VMs     []string // names of its members, sorted; of VMs that have gone, references
}

// Modules returns all cluster modules, in the order in which they were made.
func (s *Server) Modules() []Module {
	s.modules.mu.Lock()
	defer s.modules.mu.Unlock()
	var out []Module
	for _, m := range s.modules.all {
		view := Module{UUID: m.uuid, Cluster: s.nameAt(&types.ManagedObjectReference{Type: "ClusterComputeResource", Value: m.cluster})}
		for vm := range m.members {
			ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}
			if name := s.nameAt(&ref); name != "" {
				vm = name
			}
			view.VMs = append(view.VMs, vm)
		}
		slices.Sort(view.VMs)
		out = append(out, view)
	}
	return out
}

// AddModule makes a module, without members, in a compute cluster, as somebody else does, and returns its UUID.
func (s *Server) AddModule(cluster string) (string, error) {
	c, err := s.cluster(cluster)
	if err != nil {
		return "", err
	}
	return s.modules.add(c.Self.Value), nil
}

// RemoveModule deletes a module behind the back of every client.
func (s *Server) RemoveModule(uuid string) { s.modules.remove(uuid) }

// SetModules says whether accounts may make, change and delete cluster modules.
func (s *Server) SetModules(allowed bool) {
	s.modules.mu.Lock()
	defer s.modules.mu.Unlock()
	s.modules.forbidden = !allowed
}

// modules are those of a vCenter. Its zero value has none.
type modules struct {
	mu        sync.Mutex
	all       []*module
	forbidden bool
}

type module struct {
	uuid, cluster string
	members       map[string]bool
}

func (m *modules) add(cluster string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := &module{uuid: uuid.NewString(), cluster: cluster, members: map[string]bool{}}
	m.all = append(m.all, made)
	return made.uuid
}

func (m *modules) remove(uuid string) (there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.all)
	m.all = slices.DeleteFunc(m.all, func(one *module) bool { return one.uuid == uuid })
	return len(m.all) < before
}

func (m *modules) leaveAll(vm string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		delete(one.members, vm)
	}
}

func (m *modules) isForbidden() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forbidden
}

// modulesPath is where the API of cluster modules is.
const modulesPath = "/rest/vcenter/cluster/modules"

// moduleAPI serves cluster modules. vcsim's own asks itself over the network as an account of its own, and keeps members that have
// gone.
func (s *Server) moduleAPI(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ours := strings.CutPrefix(r.URL.Path, modulesPath)
		switch {
		case !ours:
			next.ServeHTTP(w, r)
		case !s.admin.loggedIn(r.Header.Get("vmware-api-session-id")):
			answerJSON(w, http.StatusUnauthorized, map[string]any{"type": "com.vmware.vapi.std.errors.unauthenticated"})
		case r.Method != http.MethodGet && s.modules.isForbidden():
			answerJSON(w, http.StatusForbidden, map[string]any{"type": "com.vmware.vapi.std.errors.unauthorized"})
		case strings.HasPrefix(path, "/vm/"):
			s.serveMembers(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "/vm/"), "/members"))
		default:
			s.serveModules(w, r, strings.TrimPrefix(path, "/"))
		}
	})
}

func (s *Server) serveModules(w http.ResponseWriter, r *http.Request, id string) {
	switch {
	case r.Method == http.MethodGet:
		s.modules.mu.Lock()
		list := []map[string]string{}
		for _, one := range s.modules.all {
			list = append(list, map[string]string{"module": one.uuid, "cluster": one.cluster})
		}
		s.modules.mu.Unlock()
		answerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"summaries": list}})
	case r.Method == http.MethodDelete && s.modules.remove(id):
		answerJSON(w, http.StatusOK, map[string]any{})
	case r.Method == http.MethodPost && id == "":
		var body struct{ Spec struct{ Cluster string } }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if _, ok := get[*simulator.ClusterComputeResource](s, &types.ManagedObjectReference{Type: "ClusterComputeResource", Value: body.Spec.Cluster}); !ok {
			answerJSON(w, http.StatusBadRequest, map[string]any{"type": "com.vmware.vapi.std.errors.invalid_argument"})
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{"value": s.modules.add(body.Spec.Cluster)})
	default:
		notFound(w)
	}
}

func (s *Server) serveMembers(w http.ResponseWriter, r *http.Request, id string) {
	var body struct {
		VMs []string `json:"vms"`
	}
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	where := map[string]string{} // outside of the lock: VMs have locks of their own
	for _, vm := range body.VMs {
		where[vm] = s.computeOf(vm)
	}
	s.modules.mu.Lock()
	defer s.modules.mu.Unlock()
	i := slices.IndexFunc(s.modules.all, func(one *module) bool { return one.uuid == id })
	if i < 0 {
		notFound(w)
		return
	}
	one := s.modules.all[i]
	if r.Method == http.MethodGet {
		answerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"vms": slices.Sorted(maps.Keys(one.members))}})
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"value": map[string]any{"success": one.change(r.URL.Query().Get("action"), body.VMs, where)}})
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

// computeOf returns the compute cluster of a VM, "" for none.
func (s *Server) computeOf(vm string) string {
	found, ok := get[*simulator.VirtualMachine](s, &types.ManagedObjectReference{Type: "VirtualMachine", Value: vm})
	if !ok {
		return ""
	}
	cluster, ok := s.clusterOf(found)
	if !ok {
		return ""
	}
	return cluster.Self.Value
}

func notFound(w http.ResponseWriter) {
	answerJSON(w, http.StatusNotFound, map[string]any{"type": "com.vmware.vapi.std.errors.not_found"})
}

// loggedIn reports whether there is such a session of the REST API.
func (a *administrator) loggedIn(session string) bool {
	a.tags.Lock()
	defer a.tags.Unlock()
	field := reflect.ValueOf(a.tags).Elem().FieldByName("Session")
	_, ok := field.Interface().(map[string]*rest.Session)[session]
	return ok
}
