// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ironic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// minorVersion is the minor version of the API: 1.95 supports disable_power_off, but not aborting deployments.
const minorVersion = 95

// maxRequest limits the size of a request body: user data and metadata have at most one MiB each.
const maxRequest = 8 << 20

// Delays are the times that Ironic and machines take. Zero means no delay, except for PowerSync, which defaults to 60 s as in
// Ironic.
type Delays struct {
	// Step is the time of steps of the conductor: verification, adoption, teardown, and the start of every longer step.
	Step time.Duration
	// Inspecting, Deploying and Cleaning are the times that the ramdisk takes.
	Inspecting, Deploying, Cleaning time.Duration
	// Power is the time to power a machine on or off.
	Power time.Duration
	// SoftPowerOff is the timeout after which an ignored soft power off fails.
	SoftPowerOff time.Duration
	// PowerSync is the interval at which power states are polled.
	PowerSync time.Duration
}

// ConfigDrive is the config drive that a machine boots with.
type ConfigDrive struct {
	UserData              string
	MetaData, NetworkData map[string]any
}

// Machine is the observable state of a node's machine.
type Machine struct {
	// Name is the name of the node: NAMESPACE~HOST.
	Name string
	On   bool
	// Runs is the config drive that the machine has booted with; nil while it is off, runs Ironic's ramdisk, or has nothing to
	// boot.
	Runs *ConfigDrive
}

// Option configures a Server.
type Option func(*Server)

// WithDelays sets the delays.
func WithDelays(delays Delays) Option { return func(s *Server) { s.delays = delays } }

// WithObserver sets a function that is called whenever a machine is powered on or off, or boots something else. It is called
// while the server is locked and must not call the server.
func WithObserver(observe func(Machine)) Option { return func(s *Server) { s.observe = observe } }

// Server is a simulated Ironic. It is safe for concurrent use.
type Server struct {
	delays  Delays
	observe func(Machine)
	mux     *http.ServeMux

	mu    sync.Mutex
	down  bool
	nodes map[string]*node // by UUID
	ports []port
	// machines, by name of the node, are kept when the node is deleted.
	machines map[string]*machine
}

// New returns a server without nodes.
func New(options ...Option) *Server {
	s := &Server{observe: func(Machine) {}, mux: http.NewServeMux(), nodes: map[string]*node{}, machines: map[string]*machine{}}
	for _, option := range options {
		option(s)
	}
	if s.delays.PowerSync == 0 {
		s.delays.PowerSync = time.Minute
	}
	s.route()
	return s
}

// Run polls the power of the machines until ctx ends.
func (s *Server) Run(ctx context.Context) {
	poll := time.NewTicker(s.delays.PowerSync)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			s.syncPower()
		}
	}
}

// Machines returns all machines that have ever had a node, sorted by name.
func (s *Server) Machines() []Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Machine, 0, len(s.machines))
	for _, name := range slices.Sorted(maps.Keys(s.machines)) {
		all = append(all, s.machines[name].seen())
	}
	return all
}

// answer is the response to a request: a status and a JSON body, which may be nil.
type answer struct {
	status int
	body   any
}

// refusal is an error response.
type refusal struct {
	status  int
	message string
}

func (r refusal) Error() string { return r.message }

func refuse(status int, format string, args ...any) error {
	return refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// request is an HTTP request with its body; document holds the body if it is a JSON object.
type request struct {
	*http.Request
	body     []byte
	document document
}

type handler func(request) (answer, error)

func (s *Server) route() {
	for pattern, handle := range map[string]handler{
		"GET /v1/{$}":                           s.version,
		"GET /v1/drivers":                       s.listDrivers,
		"GET /v1/ports":                         s.listPorts,
		"GET /v1/ports/detail":                  s.listPorts,
		"POST /v1/ports":                        s.createPort,
		"GET /v1/nodes":                         s.listNodes,
		"GET /v1/nodes/detail":                  s.listNodes,
		"POST /v1/nodes":                        s.createNode,
		"GET /v1/nodes/{node}":                  s.withNode((*Server).getNode),
		"PATCH /v1/nodes/{node}":                s.withFreeNode((*Server).patchNode),
		"DELETE /v1/nodes/{node}":               s.withFreeNode((*Server).deleteNode),
		"PUT /v1/nodes/{node}/maintenance":      s.withFreeNode((*Server).setMaintenance),
		"DELETE /v1/nodes/{node}/maintenance":   s.withFreeNode((*Server).endMaintenance),
		"PUT /v1/nodes/{node}/states/provision": s.withFreeNode((*Server).changeProvisionState),
		"PUT /v1/nodes/{node}/states/power":     s.withFreeNode((*Server).changePowerState),
		"PUT /v1/nodes/{node}/states/raid":      s.withFreeNode((*Server).setRAID),
		"GET /v1/nodes/{node}/validate":         s.withNode((*Server).validateNode),
		"GET /v1/nodes/{node}/inventory":        s.withNode((*Server).getInventory),
		"GET /v1/nodes/{node}/bios":             s.withNode(empty("bios")),
		"GET /v1/nodes/{node}/firmware":         s.withNode(empty("firmware")),
		"GET /v1/nodes/{node}/vmedia":           s.withNode(noMedia),
	} {
		s.mux.HandleFunc(pattern, s.serve(handle))
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The operator's client requests both /v1/ and /v1.
	if r.URL.Path == "/v1" {
		r.URL.Path = "/v1/"
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) serve(handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			reply(w, refused(refuse(http.StatusRequestEntityTooLarge, "%s", err)))
			return
		}
		req := request{Request: r, body: content}
		if len(content) > 0 && r.Method != http.MethodPatch {
			if err := json.Unmarshal(content, &req.document); err != nil {
				reply(w, refused(refuse(http.StatusBadRequest, "Invalid input: %s", err)))
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		got, err := s.supported(req, handle)
		if err != nil {
			got = refused(err)
		}
		reply(w, got)
	}
}

// supported handles a request, unless the server is down or does not support the requested version.
func (s *Server) supported(r request, handle handler) (answer, error) {
	if s.down {
		return answer{}, refuse(http.StatusServiceUnavailable, "Ironic is down")
	}
	asked := r.Header.Get("X-OpenStack-Ironic-API-Version")
	if minor, found := strings.CutPrefix(asked, "1."); found {
		if n, err := strconv.Atoi(minor); err != nil || n > minorVersion {
			return answer{}, refuse(http.StatusNotAcceptable, "Version %s was requested but the latest is 1.%d", asked, minorVersion)
		}
	}
	return handle(r)
}

func refused(err error) answer {
	status := http.StatusInternalServerError
	if r := (refusal{}); errors.As(err, &r) {
		status = r.status
	}
	return answer{status: status, body: document{"error_message": err.Error()}}
}

func reply(w http.ResponseWriter, a answer) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-OpenStack-Ironic-API-Version", fmt.Sprintf("1.%d", minorVersion))
	header.Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
	header.Set("X-OpenStack-Ironic-API-Maximum-Version", fmt.Sprintf("1.%d", minorVersion))
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // an error means that the client has disconnected
	}
}

func (s *Server) version(request) (answer, error) {
	return answer{http.StatusOK, document{"id": "v1", "version": document{
		"id": "v1", "status": "CURRENT", "min_version": "1.1", "version": fmt.Sprintf("1.%d", minorVersion),
	}}}, nil
}

func (s *Server) listDrivers(request) (answer, error) {
	drivers := []document{}
	for _, name := range []string{"ipmi", "redfish"} {
		drivers = append(drivers, document{"name": name, "hosts": []string{"simulated"}})
	}
	return answer{http.StatusOK, document{"drivers": drivers}}, nil
}
