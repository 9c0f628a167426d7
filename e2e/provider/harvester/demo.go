// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	// hostsPerZone is enough to migrate a virtual machine within its zone.
	hostsPerZone = 2
	// poolName is the pool with the address of the control plane, on which the in-memory cluster serves.
	poolName = "control-planes"
	// vmNamespace is the namespace of the virtual machines.
	vmNamespace = "default"
)

// simulation is a Harvester cluster with hosts in three zones.
type simulation struct {
	harvester *simulator.Simulator
	workloads *workload.Simulator
	// management is a client whose scheme has HarvesterMachines.
	management client.Client
}

// Simulate implements provider.DemoProvider.
func (Provider) Simulate(programs string) (provider.Simulation, error) {
	address := lbv1.IPPool{}
	address.Name = poolName
	address.Spec.Ranges = []lbv1.Range{{Subnet: "127.0.0.0/8", RangeStart: "127.0.0.1", RangeEnd: "127.0.0.1", Gateway: "127.255.255.254"}}
	options := append(simulator.KubeVirtOf(os.Getenv), simulator.WithPools(address),
		// Long enough to see machines start one after the other. A zone without power is declared lost as late as by a real Harvester.
		simulator.WithDelays(simulator.Delays{Volume: 200 * time.Millisecond, Boot: time.Second, Agent: 500 * time.Millisecond, Shutdown: 500 * time.Millisecond}))
	s, err := newSimulation(programs, layout(), options...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newSimulation(programs string, hosts simulator.Layout, options ...simulator.Option) (*simulation, error) {
	s := &simulation{}
	options = append(options, simulator.WithAssets(programs), simulator.WithLayout(hosts),
		simulator.WithHooks(simulator.Hooks{PowerOff: s.powerOff, PowerOn: s.powerOn}))
	var err error
	if s.harvester, err = simulator.Run(context.Background(), options...); err != nil {
		return nil, fmt.Errorf("starting the Harvester simulator: %w", err)
	}
	return s, nil
}

// layout returns the zones with their hosts.
func layout() simulator.Layout { return simulator.NamedZones(zoneNames(), hostsPerZone) }

// Setup implements provider.Simulation.
func (s *simulation) Setup(dir string) (provider.Setup, error) {
	file := filepath.Join(dir, "harvester.kubeconfig")
	kubeconfig := s.harvester.Kubeconfig()
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return provider.Setup{}, fmt.Errorf("writing the kubeconfig for Harvester: %w", err)
	}
	variables := s.harvester.TemplateVariables()
	variables["LOAD_BALANCER_IPAM"], variables["IP_POOL_NAME"] = "pool", poolName
	return provider.Setup{
		Variables: variables,
		Access:    []string{"kubectl --kubeconfig " + file + " get virtualmachineinstances --output wide"},
	}, nil
}

// Join only stores the management cluster and the simulator of workload clusters, because a Harvester runs outside both.
func (s *simulation) Join(_ context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) (func(context.Context) error, error) {
	var err error
	s.workloads = workloads
	s.management, err = provider.Connect(Provider{}, in.RESTConfig)
	return nil, err
}

// machineOf returns the Machine of a virtual machine.
func machineOf(vmi *kubevirtv1.VirtualMachineInstance) (client.ObjectKey, bool) {
	namespace, name, ok := infrav1.ParseOwner(vmi.Annotations[infrav1.OwnerAnnotation])
	return client.ObjectKey{Namespace: namespace, Name: name}, ok
}

// powerOn boots the machine's workload. Its kubelet does not have the provider ID: the provider sets it.
func (s *simulation) powerOn(ctx context.Context, boot simulator.Boot) error {
	machine, ok := machineOf(boot.VMI)
	if !ok || s.workloads == nil {
		return nil
	}
	return s.workloads.PowerOn(ctx, machine, workload.Identity{NodeName: boot.VMI.Name})
}

func (s *simulation) powerOff(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	machine, ok := machineOf(vmi)
	if !ok || s.workloads == nil {
		return nil
	}
	return s.workloads.PowerOff(ctx, machine)
}

// Machines returns the virtual machines.
func (s *simulation) Machines(ctx context.Context) ([]provider.Placement, error) {
	found, err := ListObjects(ctx, s.harvester.Client())
	if err != nil {
		return nil, err
	}
	placements := make([]provider.Placement, 0, len(found.VMs.Items))
	for i := range found.VMs.Items {
		placements = append(placements, found.Placement(&found.VMs.Items[i]))
	}
	return placements, nil
}

// lostZone is the simulator's fault of a zone without power.
const lostZone = "lost-zone"

// Break powers off the hosts of a zone: everything that runs there stops.
func (s *simulation) Break(ctx context.Context, zone string) (string, error) {
	return "the hosts of " + zone + " lost power", s.harvester.SetFault(ctx, lostZone, true, zone)
}

// Repair powers the hosts on.
func (s *simulation) Repair(ctx context.Context, zone string) (string, error) {
	return "the hosts of " + zone + " have power again", s.harvester.SetFault(ctx, lostZone, false, zone)
}

// ReleaseHost force-deletes the Pod of a machine that is being deleted on a host without power. Only a user can confirm that nothing runs
// there any more; Harvester waits for more than three minutes before it assumes so.
func (s *simulation) ReleaseHost(ctx context.Context, host string) ([]string, error) {
	var machine *infrav1.HarvesterMachine
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		var err error
		if machine, err = s.waitsFor(ctx, host); machine != nil || err != nil {
			return "", err
		}
		found, err := ListObjects(ctx, s.harvester.Client())
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(found.VMIs.Items, func(vmi kubevirtv1.VirtualMachineInstance) bool { return vmi.Status.NodeName == host }) {
			return "", nil // Harvester has declared the host lost
		}
		return "no HarvesterMachine reports that it waits for host " + host, nil
	})
	if err != nil || machine == nil {
		return nil, err
	}
	pods := client.MatchingLabels{kubevirtv1.DeprecatedVirtualMachineNameLabel: machine.Name}
	err = s.harvester.Client().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(vmNamespace), pods, client.GracePeriodSeconds(0))
	if err != nil {
		return nil, fmt.Errorf("deleting the Pod of VirtualMachine %s: %w", machine.Name, err)
	}
	return []string{
		fmt.Sprintf("HarvesterMachine %s: %s", machine.Name, conditions.GetMessage(machine, infrav1.VMRunningCondition)),
		fmt.Sprintf("deleted the Pod of VirtualMachine %s by force", machine.Name),
	}, nil
}

// waitsFor returns the machine that is being deleted and reports that it waits for the host; nil if none exists.
func (s *simulation) waitsFor(ctx context.Context, host string) (*infrav1.HarvesterMachine, error) {
	machines := &infrav1.HarvesterMachineList{}
	if err := s.management.List(ctx, machines, client.InNamespace(provider.DemoNamespace)); err != nil {
		return nil, err
	}
	for i := range machines.Items {
		says := conditions.GetMessage(&machines.Items[i], infrav1.VMRunningCondition)
		if !machines.Items[i].DeletionTimestamp.IsZero() && strings.Contains(says, "host "+host+" ") && strings.Contains(says, "force-delete") {
			return &machines.Items[i], nil
		}
	}
	return nil, nil
}

// Leftovers reports what virtual machines have left on Harvester.
func (s *simulation) Leftovers(ctx context.Context) (string, error) {
	c := s.harvester.Client()
	found, err := ListObjects(ctx, c)
	if err != nil {
		return "", err
	}
	balancers := &lbv1.LoadBalancerList{}
	if err := c.List(ctx, balancers); err != nil {
		return "", err
	}
	for _, list := range []client.ObjectList{&found.VMs, &found.VMIs, &found.Claims, balancers} {
		if n := meta.LenList(list); n > 0 {
			return fmt.Sprintf("Harvester still has %d of %T", n, list), nil
		}
	}
	return "", nil
}

// Close stops Harvester. Its errors no longer matter.
func (s *simulation) Close() { _ = s.harvester.Stop() }
