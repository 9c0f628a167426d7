// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// hostsPerRack allows for a control-plane machine, two workers, and one replacement.
const hostsPerRack = 4

// simulation is three racks of hosts that a simulated bare-metal operator manages. They are objects of the management cluster, so they do
// not exist before Join.
type simulation struct {
	hosts
	operator *simulator.Simulator
}

// hosts are the hosts in racks, with a client of the management cluster.
type hosts struct {
	racks     simulator.Layout
	client    client.Client
	workloads *workload.Simulator
	// power powers a rack off or on, including its BMCs.
	power func(ctx context.Context, rack string, on bool) error

	mu sync.Mutex
	// booted maps hosts to the Machines that run on them.
	booted map[string]client.ObjectKey
}

// Simulate implements provider.DemoProvider.
func (p Provider) Simulate(string) (provider.Simulation, error) {
	if p.Operator.Program != "" {
		return NewOperatorSimulation(hostsPerRack, p.Operator)
	}
	return Racks(hostsPerRack), nil
}

// Racks returns the simulation that Simulate starts, with a number of hosts in each rack.
func Racks(hosts int) provider.Simulation {
	m := newSimulation(
		simulator.WithNamespace(provider.DemoNamespace),
		// Long enough to see hosts change from one state to the next.
		simulator.WithDelays(simulator.Delays{
			Registering: time.Second, Inspecting: time.Second, Preparing: time.Second, Provisioning: 2 * time.Second,
			Deprovisioning: time.Second, Power: 500 * time.Millisecond, PowerLoss: time.Second, Retry: time.Second, Jitter: 0.3,
		}),
	)
	m.racks = layout(hosts)
	return m
}

// layout returns three racks with a number of hosts in each.
func layout(hosts int) (racks simulator.Layout) {
	for _, rack := range rackNames() {
		racks.Domains = append(racks.Domains, simulator.Domain{Name: rack, Hosts: hosts})
	}
	return racks
}

// newSimulation returns a simulation without racks.
func newSimulation(options ...simulator.Option) *simulation {
	m := &simulation{hosts: hosts{booted: map[string]client.ObjectKey{}}}
	m.operator = simulator.New(append(options, simulator.WithHooks(simulator.Hooks{PowerOn: m.powerOn, PowerOff: m.powerOff}))...)
	m.power = func(ctx context.Context, rack string, on bool) error {
		if on {
			return m.operator.RestoreDomain(ctx, rack)
		}
		return m.operator.LoseDomain(ctx, rack)
	}
	return m
}

// Setup implements provider.Simulation.
func (*simulation) Setup(string) (provider.Setup, error) { return setup(), nil }

// setup names an image that is never downloaded. The commands let a user who keeps the demo list the hosts, and more.
func setup(more ...string) provider.Setup {
	return provider.Setup{
		Variables: map[string]string{
			"METAL3_IMAGE_URL":      "https://images.example.com/node-" + binaries.KubernetesVersion + ".qcow2",
			"METAL3_IMAGE_CHECKSUM": strings.Repeat("0123456789abcdef", 4),
		},
		Access: append([]string{"kubectl get baremetalhosts --label-columns " + simulator.DomainLabel}, more...),
	}
}

// Join creates the hosts, as an administrator with BMCs and credentials does. They are registered and inspected in the background.
func (m *simulation) Join(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) (run func(context.Context) error, err error) {
	if err := m.connect(in, workloads); err != nil {
		return nil, err
	}
	if err := simulator.Create(ctx, m.client, provider.DemoNamespace, m.racks); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return m.operator.Run(ctx, in.RESTConfig) }, nil
}

func (h *hosts) connect(in *managementcluster.Cluster, workloads *workload.Simulator) (err error) {
	h.workloads = workloads
	h.client, err = provider.Connect(Provider{}, in.RESTConfig)
	return err
}

// identityOf returns the Machine that boots, and its identity. The kubelet registers with the name and the provider ID of the metadata,
// as configured by the templates: no cloud provider sets them, and the provider waits for that Node. Upstream's templates make
// it register with a label instead; the provider then sets the provider ID of the Node.
func identityOf(boot simulator.Boot) (machine client.ObjectKey, as workload.Identity, err error) {
	name, _ := boot.MetaData["name"].(string)
	id, _ := boot.MetaData["providerid"].(string)
	if id == "" || len(boot.UserData) == 0 {
		return machine, as, fmt.Errorf("booting host %s: no user data, or no provider ID in the metadata", boot.Host.Name)
	}
	as = workload.Identity{NodeName: name, ProviderID: infrav1.ProviderIDPrefix + id}
	if bytes.Contains(boot.UserData, []byte(infrav1.NodeUUIDLabel+"=")) {
		uuid, _ := boot.MetaData["uuid"].(string)
		as.ProviderID, as.Labels = "", map[string]string{infrav1.NodeUUIDLabel: uuid}
	}
	return client.ObjectKey{Namespace: boot.Host.Namespace, Name: name}, as, nil
}

func (h *hosts) powerOn(ctx context.Context, boot simulator.Boot) error {
	machine, as, err := identityOf(boot)
	if err != nil {
		return err
	}
	if err := h.workloads.PowerOn(ctx, machine, as); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.booted[boot.Host.Name] = machine
	return nil
}

func (h *hosts) powerOff(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	h.mu.Lock()
	machine, booted := h.booted[host.Name]
	h.mu.Unlock()
	if !booted {
		return nil
	}
	if err := h.workloads.PowerOff(ctx, machine); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.booted, host.Name)
	return nil
}

// Machines returns the hosts that have been claimed.
func (m *simulation) Machines(ctx context.Context) ([]provider.Placement, error) {
	return claimed(ctx, m.client, provider.DemoNamespace, func(host simulator.Placement) bool { return host.PoweredOn && !host.NoPower })
}

// claimed returns the placements of the machines that have claimed hosts in a namespace.
func claimed(ctx context.Context, c client.Reader, namespace string, running func(simulator.Placement) bool) ([]provider.Placement, error) {
	hosts, err := simulator.Placements(ctx, c, namespace)
	var placements []provider.Placement
	for _, host := range hosts {
		if host.Consumer != "" {
			placements = append(placements, provider.Placement{Name: host.Consumer, Domain: host.Domain, Host: host.Host, Running: running(host)})
		}
	}
	return placements, err
}

// Break powers off a rack: everything that runs there stops.
func (h *hosts) Break(ctx context.Context, rack string) (string, error) {
	return rack + " lost power", h.power(ctx, rack, false)
}

// ReleaseHost removes the host of a machine that is being deleted. Nothing shows whether a host without power still runs, so the provider
// keeps the machine until a user confirms that it does not. The operator releases such a host only if it is force-detached.
func (h *hosts) ReleaseHost(ctx context.Context, name string) (notes []string, err error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: provider.DemoNamespace, Name: name}, host); err != nil {
		return nil, fmt.Errorf("reading host %s: %w", name, err)
	}
	if host.Spec.ConsumerRef == nil {
		return nil, nil // the machine has been deleted already
	}
	err = provider.Until(ctx, func(ctx context.Context) (string, error) {
		machine := &infrav1.Metal3Machine{}
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: provider.DemoNamespace, Name: host.Spec.ConsumerRef.Name}, machine); err != nil {
			return "", err
		}
		says := conditions.Get(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)
		if machine.DeletionTimestamp.IsZero() || says == nil || !strings.Contains(says.Message, bmov1alpha1.DetachedAnnotation) {
			return fmt.Sprintf("Metal3Machine %s does not report that it waits for its host", machine.Name), nil
		}
		notes = []string{fmt.Sprintf("Metal3Machine %s: %s", machine.Name, says.Message)}
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	note, err := detachAndDelete(ctx, h.client, host)
	if err != nil {
		return nil, err
	}
	return append(notes, note), nil
}

// detachAndDelete forces the operator to detach a host, and then deletes the host: the operator requeues a host that is deleted
// before that only after a long delay.
func detachAndDelete(ctx context.Context, c client.Client, host *bmov1alpha1.BareMetalHost) (note string, err error) {
	before := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, bmov1alpha1.DetachedAnnotation, `{"force":true}`)
	if err := c.Patch(ctx, host, client.MergeFrom(before)); err != nil {
		return "", fmt.Errorf("detaching host %s: %w", host.Name, err)
	}
	err = provider.Until(ctx, func(ctx context.Context) (string, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
			return "", err
		}
		if host.Status.OperationalStatus != bmov1alpha1.OperationalStatusDetached {
			return fmt.Sprintf("host %s is not detached yet", host.Name), nil
		}
		return "", nil
	})
	if err != nil {
		return "", err
	}
	if err := c.Delete(ctx, host); err != nil {
		return "", fmt.Errorf("deleting host %s: %w", host.Name, err)
	}
	return "detached BareMetalHost " + host.Name + " by force, and deleted it", nil
}

// Repair restores power, and recreates the abandoned hosts.
func (h *hosts) Repair(ctx context.Context, rack string) (string, error) {
	if err := h.power(ctx, rack, true); err != nil {
		return "", err
	}
	return rack + " has power again", simulator.Create(ctx, h.client, provider.DemoNamespace, h.racks)
}

// Leftovers returns a host that is not available, empty and healthy.
func (h *hosts) Leftovers(ctx context.Context) (string, error) {
	hosts, err := simulator.Placements(ctx, h.client, provider.DemoNamespace)
	if err != nil {
		return "", err
	}
	if all := len(h.racks.Hosts(provider.DemoNamespace)); len(hosts) != all {
		return fmt.Sprintf("there are %d hosts, want %d", len(hosts), all), nil
	}
	for _, host := range hosts {
		if host.Consumer != "" || host.Error != "" || host.NoPower || host.State != bmov1alpha1.StateAvailable {
			return strings.TrimSpace(fmt.Sprintf("host %s is %s for machine %q %s", host.Host, host.State, host.Consumer, host.Error)), nil
		}
	}
	return "", nil
}

// Close does nothing: the hosts are removed with the management cluster.
func (*simulation) Close() {}
