// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// racks is the number of failure domains, and dataTemplate the template of the machines' metadata.
	racks        = 3
	dataTemplate = "data"
)

// target is a set of hosts in racks.
type target struct {
	*provider.Disturbance

	client   client.WithWatch
	cluster  *provider.Cluster
	layout   simulator.Layout
	operator *simulator.Simulator
	seed     uint64
	// stop stops the operator.
	stop func()
	// numbered is the number of hosts created so far.
	numbered atomic.Int64

	mu sync.Mutex
	// complaints are faults of hosts that booted the data of another machine.
	complaints []provider.Fault
}

// newTarget returns hosts with a fault. Function begin, unless nil, starts another client that disturbs them.
func newTarget(ctx context.Context, o provider.TargetOptions, fault *hostFault, begin func(*target, context.Context) error) (provider.Target, error) {
	m := &target{client: o.Client, seed: o.Seed, layout: simulator.Racks(racks, o.Capacity(racks))}
	m.layout.Ready = true
	m.numbered.Store(int64(len(m.layout.Hosts(o.Cluster))))
	options := []simulator.Option{simulator.WithoutEvents(), simulator.WithSeed(o.Seed), simulator.WithHooks(simulator.Hooks{PowerOn: m.booted})}
	m.operator = simulator.New(append(options, fault.Options...)...)
	m.Disturbance = provider.DisturbanceBy(context.WithoutCancel(ctx), fault, m.operator, m.hosts)
	var err error
	if m.cluster, err = createCluster(ctx, m.client, o.Cluster, m.layout); err != nil {
		return nil, err
	}
	if err = m.createTemplate(ctx, m.cluster); err != nil {
		return nil, err
	}
	m.operate(ctx, o.Management.RESTConfig)
	if begin != nil {
		err = begin(m, ctx)
	}
	if err = errors.Join(err, m.Begin()); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *target) createTemplate(ctx context.Context, of *provider.Cluster) error {
	return provider.Create(ctx, m.client, &infrav1.Metal3DataTemplate{ObjectMeta: of.Meta(dataTemplate), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: of.Name,
		MetaData:    &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "template", Value: dataTemplate}}},
	}})
}

// Add implements provider.Target. The cluster has its own host.
func (m *target) Add(ctx context.Context, name string) (provider.SoakCluster, error) {
	layout := simulator.Racks(1, 1)
	layout.Ready, layout.First = true, int(m.numbered.Add(1))
	c, err := createCluster(ctx, m.client, name, layout)
	if err != nil {
		return provider.SoakCluster{}, err
	}
	guest := provider.SoakCluster{Cluster: c, Infrastructure: &infrav1.Metal3Cluster{ObjectMeta: c.Meta(name)}, Domain: layout.Domains[0].Name}
	return guest, m.createTemplate(ctx, c)
}

// Remove implements provider.Target.
func (m *target) Remove(ctx context.Context, name string) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := m.client.List(ctx, hosts, client.InNamespace(name)); err != nil {
		return err
	}
	for i := range hosts.Items {
		if err := provider.Delete(ctx, m.client, &hosts.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// Open implements provider.Target. Hosts are objects of the management cluster.
func (*target) Open() int { return 0 }

// operate runs the bare-metal operator until Close.
func (m *target) operate(ctx context.Context, config *rest.Config) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.operator.Run(ctx, config); err != nil {
			m.recordFault("bare-metal operator", err.Error())
		}
	}()
	m.stop = func() { cancel(); <-ended }
}

// booted verifies that a host boots the data of the machine that it is for.
func (m *target) booted(_ context.Context, boot simulator.Boot) error {
	consumer := boot.Host.Spec.ConsumerRef
	switch {
	case consumer == nil:
		m.recordFault("host "+boot.Host.Name, "booted without a machine")
	case len(boot.UserData) == 0:
		m.recordFault("host "+boot.Host.Name, "booted machine "+consumer.Name+" without user data")
	case boot.MetaData["providerid"] != strings.Join([]string{boot.Host.Namespace, boot.Host.Name, consumer.Name}, "/"):
		m.recordFault("host "+boot.Host.Name, fmt.Sprintf("booted machine %s with the metadata of %v", consumer.Name, boot.MetaData["providerid"]))
	}
	return nil
}

func (m *target) recordFault(object, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.complaints = append(m.complaints, provider.Fault{Object: object, What: what})
}

func (m *target) Cluster() *provider.Cluster { return m.cluster }

func (m *target) Domains() []string {
	names := make([]string, 0, len(m.layout.Domains))
	for _, domain := range m.layout.Domains {
		names = append(names, domain.Name)
	}
	return names
}

// Machine returns a machine whose metadata comes from a template, which requires a claim, data and a Secret.
func (m *target) Machine(meta metav1.ObjectMeta) client.Object {
	machine := newMachine(meta)
	machine.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: dataTemplate}
	return machine
}

// Observe reads the hosts before the machines: a machine releases its host before it is deleted.
func (m *target) Observe(ctx context.Context) (provider.Snapshot, error) {
	hosts, data, machines := &bmov1alpha1.BareMetalHostList{}, &infrav1.Metal3DataList{}, &infrav1.Metal3MachineList{}
	for _, list := range []client.ObjectList{hosts, data, machines} {
		if err := m.client.List(ctx, list, client.InNamespace(m.cluster.Name)); err != nil {
			return provider.Snapshot{}, err
		}
	}
	m.mu.Lock()
	s := provider.Snapshot{Machines: map[string]provider.MachineState{}, Faults: slices.Clone(m.complaints)}
	m.mu.Unlock()
	owned := map[string]string{}
	for i := range hosts.Items {
		if h, held := resourceOf(&hosts.Items[i]); held {
			s.Resources = append(s.Resources, h)
			owned[h.Owner] = hosts.Items[i].Name
		}
	}
	s.Faults = append(s.Faults, doubledData(data.Items)...)
	for i := range machines.Items {
		machine := &machines.Items[i]
		expected := infrav1.ProviderIDPrefix + strings.Join([]string{m.cluster.Name, owned[machine.Name], machine.Name}, "/")
		s.Machines[machine.Name] = provider.StateOf(machine, ptr.Deref(machine.Status.Initialization.Provisioned, false), machine.Spec.ProviderID, expected)
	}
	return s, nil
}

// resourceOf returns a host that is claimed, or that differs from an unclaimed host.
func resourceOf(host *bmov1alpha1.BareMetalHost) (provider.Resource, bool) {
	h := provider.Resource{
		Name: "host " + host.Name, Domain: host.Labels[simulator.DomainLabel],
		Running: host.Status.Provisioning.State == bmov1alpha1.StateProvisioned,
	}
	if consumer := host.Spec.ConsumerRef; consumer != nil {
		h.Owner = consumer.Name
		return h, true
	}
	if host.Spec.Image != nil || host.Spec.UserData != nil || host.Spec.MetaData != nil {
		h.Inconsistency = "has an image or data although no machine claims it"
	}
	return h, h.Inconsistency != ""
}

// doubledData returns claims with more than one Metal3Data.
func doubledData(items []infrav1.Metal3Data) []provider.Fault {
	var faults []provider.Fault
	of := map[string]string{}
	for _, data := range items {
		if !data.DeletionTimestamp.IsZero() {
			continue
		}
		if other, doubled := of[data.Spec.Claim.Name]; doubled {
			faults = append(faults, provider.Fault{Object: "Metal3DataClaim " + data.Spec.Claim.Name, What: "has both " + other + " and " + data.Name})
		}
		of[data.Spec.Claim.Name] = data.Name
	}
	return faults
}

// Leftovers reports all remaining objects of machines.
func (m *target) Leftovers(ctx context.Context) ([]provider.Fault, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := m.client.List(ctx, hosts, client.InNamespace(m.cluster.Name)); err != nil {
		return nil, err
	}
	var faults []provider.Fault
	for i := range hosts.Items {
		host := &hosts.Items[i]
		h, held := resourceOf(host)
		switch state := host.Status.Provisioning.State; {
		case held:
			faults = append(faults, provider.Fault{Object: h.Name, What: "is still claimed by " + h.Owner + " " + h.Inconsistency})
		case state != bmov1alpha1.StateAvailable:
			faults = append(faults, provider.Fault{Object: h.Name, What: "is still " + string(state)})
		}
	}
	left, err := provider.Leftovers(ctx, m.client, m.cluster.Name, func(secret *corev1.Secret) bool { return strings.HasSuffix(secret.Name, "-bmc") },
		&infrav1.Metal3MachineList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{})
	return append(faults, left...), err
}

func (m *target) Close() { m.stop() }
