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
	// loadBalancer is true if the simulator runs Harvester's load balancer.
	loadBalancer bool
	// programs are those of the real KubeVirt; nil if it is simulated.
	programs *process.Programs
	delays   Delays
	hooks    Hooks
	workers  int
	now      func() time.Time
}

// defaultWorkers is sufficient for slow hooks.
const defaultWorkers = 20

func newSettings(opts []Option) settings {
	s := settings{
		loadBalancer: true, layout: Zones(3, 2), namespaces: []string{defaultNamespace}, workers: defaultWorkers, now: time.Now,
		networks: []Network{{Name: "vlan-1"}}, images: []string{"ubuntu"}, keyPairs: []KeyPair{{Name: "admin", PublicKey: "ssh-ed25519 AAAA admin"}},
	}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// WithLayout sets the hosts. The default is Zones(3, 2).
func WithLayout(layout Layout) Option { return func(s *settings) { s.layout = layout } }

// WithAssets sets the folder with etcd, kube-apiserver and kube-scheduler. The default is that of testenv.Assets.
func WithAssets(folder string) Option { return func(s *settings) { s.assets = folder } }

// WithAddress makes the API server's proxy listen on an address, such as :6443, for clients that reach this machine by the name
// or address host. The default is a port on localhost.
func WithAddress(listen, host string) Option {
	return func(s *settings) { s.address = simulation.Address{Listen: listen, Host: host} }
}

// WithNamespaces creates namespaces in addition to default.
func WithNamespaces(names ...string) Option {
	return func(s *settings) { s.namespaces = slices.Concat(s.namespaces, names) }
}

// WithNetworks creates networks in addition to default/vlan-1.
func WithNetworks(networks ...Network) Option {
	return func(s *settings) { s.networks = slices.Concat(s.networks, networks) }
}

// WithImages creates imported images with these names and display names, in namespace default, in addition to ubuntu.
func WithImages(names ...string) Option {
	return func(s *settings) { s.images = slices.Concat(s.images, names) }
}

// WithKeyPairs creates SSH keys in addition to default/admin.
func WithKeyPairs(pairs ...KeyPair) Option {
	return func(s *settings) { s.keyPairs = slices.Concat(s.keyPairs, pairs) }
}

// WithPools creates IP pools. Pool returns a simple one.
func WithPools(pools ...lbv1.IPPool) Option {
	return func(s *settings) { s.pools = slices.Concat(s.pools, pools) }
}

// WithKubeVIP sets the behavior of kube-vip.
func WithKubeVIP(version KubeVIP) Option { return func(s *settings) { s.kubeVIP = version } }

// WithoutLoadBalancer leaves IPPools and LoadBalancers to a manager that the caller runs. kube-vip is still simulated.
func WithoutLoadBalancer() Option { return func(s *settings) { s.loadBalancer = false } }

// WithKubeVirt runs the real virt-controller and virt-api for virtual machines and their instances. The other components are
// still simulated: Harvester, which creates PVCs, kubelets, and virt-handler. Migration is not supported: Migrate, Drain and the
// fault drained cannot be used with a real KubeVirt.
func WithKubeVirt(programs KubeVirt) Option { return func(s *settings) { s.programs = &programs } }

// KubeVirt holds the programs of a real KubeVirt.
type KubeVirt = process.Programs

// KubeVirtOf returns the options set by environment variables: FAULTLINE_KUBEVIRT is the folder of the real KubeVirt's programs,
// and FAULTLINE_KUBEVIRT_LOGS the folder of their logs.
func KubeVirtOf(getenv func(string) string) []Option {
	folder := getenv("FAULTLINE_KUBEVIRT")
	if folder == "" {
		return nil
	}
	return []Option{WithKubeVirt(KubeVirt{Folder: folder, Logs: getenv("FAULTLINE_KUBEVIRT_LOGS")})}
}

// WithDelays sets the times that operations take. By default operations take no time.
func WithDelays(delays Delays) Option { return func(s *settings) { s.delays = delays } }

// WithHooks sets the hooks for virtual machines that boot or stop.
func WithHooks(hooks Hooks) Option { return func(s *settings) { s.hooks = hooks } }

// WithWorkers sets the number of virtual machines processed in parallel. The default is 20. A hook occupies a worker.
func WithWorkers(workers int) Option { return func(s *settings) { s.workers = workers } }

// Delays are the times that operations take.
type Delays = controllers.Delays

// KubeVIP selects a behavior of kube-vip.
type KubeVIP int

const (
	// KubeVIPWaits is kube-vip 1.2 and later, which ignores a Service without endpoints unless its annotation specifies
	// otherwise. It is the default.
	KubeVIPWaits KubeVIP = iota
	// KubeVIPEager is kube-vip before 1.2.
	KubeVIPEager
)

// Network is a network that virtual machines can be attached to.
type Network struct {
	// Namespace defaults to default.
	Namespace, Name string
	// ClusterNetwork is the cluster network that it belongs to: hosts without the label network.harvesterhci.io/<its name>:
	// "true" are not connected to it. Defaults to mgmt, which all hosts are connected to.
	ClusterNetwork string
	// VLAN is the VLAN number. Defaults to 1.
	VLAN int
	// First is the first address that its DHCP server leases; by default the simulator chooses it.
	First netip.Addr
}

// KeyPair is an SSH key.
type KeyPair struct {
	// Namespace defaults to default.
	Namespace, Name string
	PublicKey       string
}

// Hooks are called for virtual machines. A hook may be called more than once for the same change; after an error it is retried.
type Hooks = virtualmachines.Hooks

// Boot holds copies of the boot data of a virtual machine.
type Boot = virtualmachines.Boot
