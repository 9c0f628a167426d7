// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	pbm "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/httpfront"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/rest"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// Server is a simulated vCenter. Its methods are safe for concurrent use.
type Server struct {
	endpoint *httpfront.Endpoint
	accounts *vcsim.Accounts
	sessions *vcsim.Sessions
	silent   []string       // properties whose changes are not reported to clients
	history  *vcsim.History // nil if vcsim's own is used
	vcsim    *vcsim.VCSim
	closing  sync.Once

	inventory *vcsim.Inventory
	admin     *vcsim.AdminClient

	components
}

// components holds the components of a vCenter that replace or extend vcsim's.
type components struct {
	tasks       *vcsim.Tasks
	tagging     *rest.Tagging
	policies    *vcsim.Policies
	keys        *vcsim.Keys
	modules     *rest.Modules
	drs         *vcsim.DRS
	pci         *vcsim.PCIDevices
	hosts       *vcsim.Hosts
	datastores  *vcsim.Datastores
	permissions *vcsim.Permissions
	cloning     *vcsim.Cloning
	machines    *vcsim.Machines
	taskHooks   vcsim.TaskHooks
	guests      *vcsim.GuestNetwork
}

// Start runs a Server until the test ends. It fails the test if the layout is inconsistent, and skips it under the race detector
// if it uses vcsim's own collectors.
func Start(tb testing.TB, layout Layout, opts ...Option) *Server {
	tb.Helper()
	if raceDetector && newOptions(opts).stockCollector {
		tb.Skip("vcsim's own collectors have data races: run this test without -race")
	}
	s, err := New(layout, opts...)
	if err != nil {
		tb.Fatalf("starting vCenter simulator: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New runs a Server that the caller must close. An error names the part of the layout that cannot be created.
func New(layout Layout, opts ...Option) (*Server, error) {
	o := newOptions(opts)
	endpoint, err := httpfront.Listen(o.listen)
	if err != nil {
		return nil, err
	}
	s := &Server{
		endpoint: endpoint,
		accounts: vcsim.NewAccounts(o.username, o.password),
		sessions: vcsim.NewSessions(),
	}
	if o.silentRecentTasks {
		s.silent = append(s.silent, "recentTask")
	}
	mux, err := s.populate(layout, o)
	if err != nil {
		s.release()
		return nil, err
	}
	for _, begin := range o.faults {
		if err := begin(s); err != nil {
			s.release()
			return nil, err
		}
	}
	s.endpoint.Start(mux)
	return s, nil
}

func (s *Server) populate(layout Layout, o options) (http.Handler, error) {
	buildMutex.Lock()
	defer buildMutex.Unlock()
	mux, err := s.assemble(o)
	if err != nil {
		return nil, err
	}
	s.tagging = rest.NewTagging(s.admin, s.inventory, s.modules.API(s.admin.LoggedIn, mux))
	if o.silentTags {
		s.tagging.DisableEvents()
	}
	return s.tagging, s.build(layout)
}

// buildMutex serializes the creation of servers in a process.
//
//nolint:gochecknoglobals // It guards vcsim's package variables, which vcsim writes to when it makes an inventory.
var buildMutex sync.Mutex

// assemble creates an empty vCenter from vcsim and the components that replace parts of it.
func (s *Server) assemble(o options) (http.Handler, error) {
	var err error
	if s.vcsim, err = vcsim.New(s.Host(), o.version, s.accounts.Valid); err != nil {
		return nil, err
	}
	model := s.vcsim.Model
	s.inventory = vcsim.NewInventory(model.Map(), model.ServiceContent.RootFolder)
	if s.admin, err = vcsim.NewAdminClient(model.Service, s.vcsim.REST, s.accounts.Admin); err != nil {
		return nil, err
	}
	s.components = s.newComponents(o)
	if o.stockPolicies {
		model.Service.RegisterSDK(pbm.New())
	} else {
		model.Service.RegisterSDK(s.policies.Service())
	}
	s.installHooks(o)
	return model.Service.ServeMux, nil
}

// newComponents creates the components, except for tagging.
func (s *Server) newComponents(o options) components {
	i := s.inventory
	c := components{
		tasks:    vcsim.NewTasks(i, s.admin.Client.ServiceContent.TaskManager),
		policies: vcsim.NewPolicies(i, o.stockPolicies),
		keys:     vcsim.NewKeys(i, s.admin),
		modules:  rest.NewModules(i),
		pci:      &vcsim.PCIDevices{},
		hosts:    vcsim.NewHosts(i),
		guests:   vcsim.NewGuestNetwork(i, o.guestDelay),
	}
	c.drs = vcsim.NewDRS(i, c.pci)
	c.datastores = vcsim.NewDatastores(i, &c.tasks.StructureLock)
	c.permissions = vcsim.NewPermissions(i, &c.tasks.StructureLock)
	c.cloning = vcsim.NewCloning(i, c.drs, c.policies, c.keys, c.permissions)
	c.machines = vcsim.NewMachines(i, s.admin, c.cloning)
	c.taskHooks = vcsim.TaskHooks{
		Inventory: i, Hosts: c.hosts, Datastores: c.datastores, DRS: c.drs, Cloning: c.cloning, Machines: c.machines,
	}
	return c
}

// Close ends all sessions, connections and tasks and deletes the files. Further calls have no effect.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.endpoint.Close()
		s.release()
	})
}

func (s *Server) release() {
	s.endpoint.Release()
	if s.tasks != nil {
		s.tasks.Close()
		s.guests.Close()
	}
	if s.vcsim != nil {
		s.vcsim.Remove()
	}
}

// Host returns host:port, for use in a server field.
func (s *Server) Host() string {
	address := s.endpoint.Address()
	if address.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(address.Port))
	}
	return address.String()
}

// Username returns the name of the account.
func (s *Server) Username() string { return s.accounts.Username }

// Password returns the current password.
func (s *Server) Password() string { return s.accounts.Password() }

// Thumbprint returns the SHA-1 thumbprint of the server's certificate, as hex pairs separated by colons.
func (s *Server) Thumbprint() string { return soap.ThumbprintSHA1(s.Certificate()) }

// Certificate returns the server's self-signed certificate.
func (s *Server) Certificate() *x509.Certificate { return s.endpoint.Certificate() }
