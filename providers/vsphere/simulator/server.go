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

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/cloning"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/clustermodules"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/datastores"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/drs"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/effects"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/encryption"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/front"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/guest"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/hosts"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/machines"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/operator"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/passthrough"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/sessions"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/storagepolicy"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/tasks"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/visibility"
)

// Server is one simulated vCenter. Its methods may be called from any goroutine.
type Server struct {
	endpoint *front.Endpoint
	accounts *sessions.Accounts
	sessions *sessions.Table
	silent   []string       // properties whose changes clients are not told of
	history  *tasks.History // nil where vcsim's own is left in place
	vcsim    *vcsim.VCSim
	closing  sync.Once

	inventory *inventory.Inventory
	operator  *operator.Operator

	parts
}

// parts are what a vCenter consists of, for as much as vcsim does it in another way.
type parts struct {
	tasks      *tasks.Tasks
	tagging    *tagging.Service
	policies   *storagepolicy.Policies
	keys       *encryption.Keys
	modules    *clustermodules.Modules
	drs        *drs.DRS
	pci        *passthrough.Devices
	hosts      *hosts.Hosts
	datastores *datastores.Datastores
	visibility *visibility.Visibility
	cloning    *cloning.Cloning
	machines   *machines.Machines
	effects    effects.Effects
	guests     *guest.Network
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
		endpoint: endpoint,
		accounts: sessions.NewAccounts(o.username, o.password),
		sessions: sessions.NewTable(),
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
	s.tagging = tagging.New(s.operator, s.inventory, s.modules.API(s.operator.LoggedIn, mux))
	if o.silentTags {
		s.tagging.Silence()
	}
	return s.tagging, s.build(layout)
}

// building keeps the servers of a process from being made at the same time.
//
//nolint:gochecknoglobals // It guards vcsim's package variables, which vcsim writes to when it makes an inventory.
var building sync.Mutex

// assemble makes an empty vCenter of vcsim and of what replaces parts of it.
func (s *Server) assemble(o options) (http.Handler, error) {
	var err error
	if s.vcsim, err = vcsim.New(s.Host(), o.version, s.accounts.Valid); err != nil {
		return nil, err
	}
	model := s.vcsim.Model
	s.inventory = inventory.New(model.Map(), model.ServiceContent.RootFolder)
	if s.operator, err = operator.New(model.Service, s.vcsim.REST, s.accounts.Operator); err != nil {
		return nil, err
	}
	s.parts = s.compose(o)
	if o.stockPolicies {
		model.Service.RegisterSDK(pbm.New())
	} else {
		model.Service.RegisterSDK(s.policies.Service())
	}
	s.hook(o)
	return model.Service.ServeMux, nil
}

// compose makes the parts, but for tagging.
func (s *Server) compose(o options) parts {
	i := s.inventory
	p := parts{
		tasks:    tasks.New(i, s.operator.Client.ServiceContent.TaskManager),
		policies: storagepolicy.New(i, o.stockPolicies),
		keys:     encryption.New(i, s.operator),
		modules:  clustermodules.New(i),
		pci:      &passthrough.Devices{},
		hosts:    hosts.New(i),
		guests:   guest.New(i, o.guestDelay),
	}
	p.drs = drs.New(i, p.pci)
	p.datastores = datastores.New(i, &p.tasks.Turns)
	p.visibility = visibility.New(i, &p.tasks.Turns)
	p.cloning = cloning.New(i, p.drs, p.policies, p.keys, p.visibility)
	p.machines = machines.New(i, s.operator, p.cloning)
	p.effects = effects.Effects{
		Inventory: i, Hosts: p.hosts, Datastores: p.datastores, DRS: p.drs, Cloning: p.cloning, Machines: p.machines,
	}
	return p
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
	if s.tasks != nil {
		s.tasks.Close()
		s.guests.Close()
	}
	if s.vcsim != nil {
		s.vcsim.Remove()
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
func (s *Server) Username() string { return s.accounts.Username }

// Password returns the password that is valid now.
func (s *Server) Password() string { return s.accounts.Password() }

// Thumbprint returns the SHA-1 thumbprint of the server's certificate, as hex
// pairs with colons.
func (s *Server) Thumbprint() string { return soap.ThumbprintSHA1(s.Certificate()) }

// Certificate returns the server's certificate, which signs itself.
func (s *Server) Certificate() *x509.Certificate { return s.endpoint.Certificate() }
