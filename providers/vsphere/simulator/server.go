// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"

	pbm "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/front"
)

// Server is one simulated vCenter. Its methods may be called from any goroutine.
type Server struct {
	endpoint  *front.Endpoint
	model     *simulator.Model
	registry  *simulator.Registry
	accounts  *accounts
	sessions  *sessionTable
	admin     *administrator
	tasks     *taskFaults
	guests    *guestNetwork
	structure *structure
	tagging   *tagging
	removed   removedDatastores
	policies  *policies
	storage   storage
	silent    []string // properties whose changes clients are not told of
	newVMs    newVMs
	pci       pciDevices
	modules   modules
	history   *taskHistory // nil where vcsim's own is left in place
	closing   sync.Once
}

// Start runs a Server until the test ends. It fails the test when the layout is
// at odds with itself, and skips it under the race detector when it asks for
// vcsim's own collectors.
func Start(tb testing.TB, layout Layout, opts ...Option) *Server {
	tb.Helper()
	if raceDetector && gather(opts).stockCollector {
		tb.Skip("vcsim's own collectors race among themselves: run without -race")
	}
	s, err := New(layout, opts...)
	if err != nil {
		tb.Fatalf("starting vCenter simulator: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New runs a Server that the caller closes. An error says which part of the
// layout cannot be built.
func New(layout Layout, opts ...Option) (*Server, error) {
	o := gather(opts)
	endpoint, err := front.Listen(o.listen)
	if err != nil {
		return nil, err
	}
	s := &Server{
		endpoint:  endpoint,
		accounts:  newAccounts(o.username, o.password),
		sessions:  newSessionTable(),
		tasks:     newTaskFaults(),
		guests:    newGuestNetwork(o.guestDelay),
		structure: newStructure(),
	}
	s.policies = &policies{server: s, stock: o.stockPolicies}
	for _, policy := range layout.Policies {
		s.AddPolicy(policy)
	}
	if o.silentRecentTasks {
		s.silent = append(s.silent, "recentTask")
	}
	mux, err := s.populate(layout, o)
	if err != nil {
		s.release()
		return nil, err
	}
	for _, begin := range o.begin {
		if err := begin(s); err != nil {
			s.release()
			return nil, err
		}
	}
	s.endpoint.Start(mux)
	return s, nil
}

func (s *Server) populate(layout Layout, o options) (http.Handler, error) {
	building.Lock()
	defer building.Unlock()
	mux, err := s.assemble(o)
	if err != nil {
		return nil, err
	}
	s.tagging = &tagging{server: s, next: s.moduleAPI(mux)}
	return s.tagging, s.build(layout)
}

// building keeps the servers of a process from being made at the same time.
//
//nolint:gochecknoglobals // It guards vcsim's package variables, which vcsim writes to when it makes an inventory.
var building sync.Mutex

// assemble puts vcsim's parts together for this server alone. simulator.Service
// would do most of it, but takes its REST and PBM parts from package variables and
// serves them on a listener that cannot be cut.
func (s *Server) assemble(o options) (http.Handler, error) {
	s.model = simulator.VPX()
	s.model.Datacenter = 0
	if o.version != "" {
		s.model.ServiceContent.About.Version = o.version
	}
	if err := s.model.Create(); err != nil {
		return nil, fmt.Errorf("creating empty inventory: %w", err)
	}
	service := s.model.Service
	s.registry = s.model.Map()
	service.Listen = &url.URL{
		Scheme: "https", Host: s.Host(), Path: vim25.Path,
		// Any account set here makes vcsim ask ValidLogin; it is never valid itself.
		User: url.UserPassword("", ""),
	}
	s.registry.SessionManager().ValidLogin = s.accounts.valid
	s.registry.SessionManager().ServiceHostName = s.Host()

	service.RegisterSDK(s.registry, vim25.Path+"/vimService")
	service.ServeMux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", service.ServiceVersions)
	if o.stockPolicies {
		service.RegisterSDK(pbm.New())
	} else {
		service.RegisterSDK(newPolicyService(s.policies))
	}
	patterns, rest := vapi.New(service.Listen, s.registry)
	for _, pattern := range patterns {
		service.Handle(pattern, rest)
	}

	var err error
	if s.admin, err = newAdministrator(service, rest, s.accounts.operator); err != nil {
		return nil, err
	}
	s.hook(o)
	return service.ServeMux, nil
}

// Close ends all sessions, connections and tasks and removes the files. A second
// call does nothing.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.endpoint.Close()
		s.release()
	})
}

func (s *Server) release() {
	s.endpoint.Release()
	s.tasks.close()
	s.guests.close()
	if s.model != nil && s.model.Service != nil {
		s.model.Remove()
	}
}

// Host returns host:port, as it belongs in a server field.
func (s *Server) Host() string {
	address := s.endpoint.Address()
	if address.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(address.Port))
	}
	return address.String()
}

// Username returns the name of the account.
func (s *Server) Username() string { return s.accounts.username }

// Password returns the password that is valid now.
func (s *Server) Password() string { return s.accounts.password() }

// Thumbprint returns the SHA-1 thumbprint of the server's certificate, as hex
// pairs with colons.
func (s *Server) Thumbprint() string { return soap.ThumbprintSHA1(s.Certificate()) }

// Certificate returns the server's certificate, which signs itself.
func (s *Server) Certificate() *x509.Certificate { return s.endpoint.Certificate() }

// call is a vcsim context of its own. vcsim's locks belong to contexts: two
// goroutines that shared one would not keep each other out.
func (s *Server) call() *simulator.Context {
	return &simulator.Context{
		Context: context.Background(),
		Map:     s.registry,
		Session: &simulator.Session{
			UserSession: types.UserSession{Key: "simulator"},
			Registry:    simulator.NewRegistry(),
			Map:         s.registry,
		},
	}
}
