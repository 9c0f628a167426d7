// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	pbm "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/cloning"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/clustermodules"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/datastores"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/drs"
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
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/visibility"
)

// Server is one simulated vCenter. Its methods may be called from any goroutine.
type Server struct {
	endpoint *front.Endpoint
	accounts *sessions.Accounts
	sessions *sessions.Table
	silent   []string       // properties whose changes clients are not told of
	history  *tasks.History // nil where vcsim's own is left in place
	model    *simulator.Model
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
	s.inventory = inventory.New(s.model.Map(), s.model.ServiceContent.RootFolder)
	service.Listen = &url.URL{
		Scheme: "https", Host: s.Host(), Path: vim25.Path,
		// Any account set here makes vcsim ask ValidLogin; it is never valid itself.
		User: url.UserPassword("", ""),
	}
	s.inventory.Registry.SessionManager().ValidLogin = s.accounts.Valid
	s.inventory.Registry.SessionManager().ServiceHostName = s.Host()

	service.RegisterSDK(s.inventory.Registry, vim25.Path+"/vimService")
	service.ServeMux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", service.ServiceVersions)
	patterns, rest := vapi.New(service.Listen, s.inventory.Registry)
	for _, pattern := range patterns {
		service.Handle(pattern, rest)
	}

	var err error
	if s.operator, err = operator.New(service, rest, s.accounts.Operator); err != nil {
		return nil, err
	}
	s.parts = s.compose(o)
	if o.stockPolicies {
		service.RegisterSDK(pbm.New())
	} else {
		service.RegisterSDK(s.policies.Service())
	}
	s.hook(o)
	return service.ServeMux, nil
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
func (s *Server) Username() string { return s.accounts.Username }

// Password returns the password that is valid now.
func (s *Server) Password() string { return s.accounts.Password() }

// Thumbprint returns the SHA-1 thumbprint of the server's certificate, as hex
// pairs with colons.
func (s *Server) Thumbprint() string { return soap.ThumbprintSHA1(s.Certificate()) }

// Certificate returns the server's certificate, which signs itself.
func (s *Server) Certificate() *x509.Certificate { return s.endpoint.Certificate() }
