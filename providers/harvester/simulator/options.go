// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"net/netip"
	"slices"
	"time"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/process"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/virtualmachines"
	"github.com/faultline-io/faultline/shared/simulation"
)

// Option configures a Simulator.
type Option func(*settings)

type settings struct {
	assets     string
	address    simulation.Address
	layout     Layout
	namespaces []string
	networks   []Network
	images     []string
	keyPairs   []KeyPair
	pools      []lbv1.IPPool
	kubeVIP    KubeVIP
	// balances says that the simulator plays Harvester's load balancer.
	balances bool
	// programs are the real KubeVirt's; nil where it is simulated.
	programs *process.Programs
	delays   Delays
	hooks    Hooks
	workers  int
	now      func() time.Time
}

// defaultWorkers is enough for hooks that take their time.
const defaultWorkers = 20

func newSettings(opts []Option) settings {
	s := settings{
		balances: true, layout: Zones(3, 2), namespaces: []string{defaultNamespace}, workers: defaultWorkers, now: time.Now,
		networks: []Network{{Name: "vlan-1"}}, images: []string{"ubuntu"}, keyPairs: []KeyPair{{Name: "admin", PublicKey: "ssh-ed25519 AAAA admin"}},
	}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// WithLayout sets the hosts. The default are Zones(3, 2).
func WithLayout(layout Layout) Option { return func(s *settings) { s.layout = layout } }

// WithAssets says which folder has etcd, kube-apiserver and kube-scheduler. The default is that of testenv.Assets.
func WithAssets(folder string) Option { return func(s *settings) { s.assets = folder } }

// WithAddress has the API server's front listen on an address, such as :6443, for others who call this machine by the name
// or address host. The default is a port of the local host.
func WithAddress(listen, host string) Option {
	return func(s *settings) { s.address = simulation.Address{Listen: listen, Host: host} }
}

// WithNamespaces makes namespaces beside default.
func WithNamespaces(names ...string) Option {
	return func(s *settings) { s.namespaces = slices.Concat(s.namespaces, names) }
}

// WithNetworks makes networks beside default/vlan-1.
func WithNetworks(networks ...Network) Option {
	return func(s *settings) { s.networks = slices.Concat(s.networks, networks) }
}

// WithImages makes images, imported, of these names and display names, in namespace default. There is one called ubuntu.
func WithImages(names ...string) Option {
	return func(s *settings) { s.images = slices.Concat(s.images, names) }
}

// WithKeyPairs makes SSH keys beside default/admin.
func WithKeyPairs(pairs ...KeyPair) Option {
	return func(s *settings) { s.keyPairs = slices.Concat(s.keyPairs, pairs) }
}

// WithPools makes pools of addresses. Pool makes a simple one.
func WithPools(pools ...lbv1.IPPool) Option {
	return func(s *settings) { s.pools = slices.Concat(s.pools, pools) }
}

// WithKubeVIP sets how kube-vip behaves.
func WithKubeVIP(version KubeVIP) Option { return func(s *settings) { s.kubeVIP = version } }

// WithoutLoadBalancer leaves IPPools and LoadBalancers to a manager that somebody else runs. kube-vip is there.
func WithoutLoadBalancer() Option { return func(s *settings) { s.balances = false } }

// WithKubeVirt leaves virtual machines and their instances to the real virt-controller and virt-api, which it runs. What is beside and below them is
// simulated still: Harvester, which makes PVCs, kubelets, and virt-handler. Nothing migrates then: Migrate, Drain and the fault drained are not for
// a real KubeVirt.
func WithKubeVirt(programs KubeVirt) Option { return func(s *settings) { s.programs = &programs } }

// KubeVirt are the programs of one.
type KubeVirt = process.Programs

// KubeVirtOf are the options that the environment asks for: FAULTLINE_KUBEVIRT is the folder of the real KubeVirt's programs, and
// FAULTLINE_KUBEVIRT_LOGS the one of what they write.
func KubeVirtOf(getenv func(string) string) []Option {
	folder := getenv("FAULTLINE_KUBEVIRT")
	if folder == "" {
		return nil
	}
	return []Option{WithKubeVirt(KubeVirt{Folder: folder, Logs: getenv("FAULTLINE_KUBEVIRT_LOGS")})}
}

// WithDelays sets how long things take. The default is no time at all.
func WithDelays(delays Delays) Option { return func(s *settings) { s.delays = delays } }

// WithHooks tells of virtual machines that boot and of those that stop.
func WithHooks(hooks Hooks) Option { return func(s *settings) { s.hooks = hooks } }

// WithWorkers sets how many virtual machines are worked on at the same time. The default is 20. A hook occupies a worker.
func WithWorkers(workers int) Option { return func(s *settings) { s.workers = workers } }

// Delays are how long things take.
type Delays = controllers.Delays

// KubeVIP is how kube-vip behaves.
type KubeVIP int

const (
	// KubeVIPWaits is kube-vip 1.2 and later, which leaves a Service alone that has no endpoints, unless its annotation
	// says otherwise. It is the default.
	KubeVIPWaits KubeVIP = iota
	// KubeVIPEager is kube-vip before 1.2.
	KubeVIPEager
)

// Network is a network that virtual machines can be attached to.
type Network struct {
	// Namespace is default without one.
	Namespace, Name string
	// ClusterNetwork is what it belongs to: hosts without the label network.harvesterhci.io/<its name>: "true" do not have it.
	// It is mgmt without one, which all have.
	ClusterNetwork string
	// VLAN is its number; 1 without one.
	VLAN int
	// First is the first address that its DHCP server gives; the zero value leaves that to the simulator.
	First netip.Addr
}

// KeyPair is an SSH key.
type KeyPair struct {
	// Namespace is default without one.
	Namespace, Name string
	PublicKey       string
}

// Hooks hear of virtual machines. A hook may be called again for what it has done already; after an error it is called again later.
type Hooks = virtualmachines.Hooks

// Boot is what a virtual machine boots from. All are copies.
type Boot = virtualmachines.Boot
