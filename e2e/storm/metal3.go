// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/alone"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// racks are the failure domains, and dataTemplate is what machines have their
	// metadata from.
	racks        = 3
	dataTemplate = "data"
)

// metal3 is hosts in racks.
type metal3 struct {
	client   client.WithWatch
	cluster  *alone.Cluster
	layout   simulator.Layout
	operator *simulator.Simulator
	mode     metal3Mode
	seed     uint64
	// troubled are the hosts that the mode did something to.
	troubled []types.NamespacedName
	// stop ends the operator.
	stop func()

	mu sync.Mutex
	// complaints are of hosts that booted what is not their machine's.
	complaints []Fault
}

func metal3Provider() provider {
	p := provider{alone: alone.Metal3(), layOut: func(ctx context.Context, g ground) (infrastructure, error) {
		i := slices.IndexFunc(metal3Modes(), func(mode metal3Mode) bool { return mode.Name == g.mode })
		return layOutMetal3(ctx, g, metal3Modes()[i])
	}}
	for _, mode := range metal3Modes() {
		p.modes = append(p.modes, mode.Mode)
	}
	return p
}

func layOutMetal3(ctx context.Context, g ground, mode metal3Mode) (infrastructure, error) {
	m := &metal3{client: g.client, mode: mode, seed: g.seed, layout: simulator.Racks(racks, roomFor(g.machines, racks))}
	m.layout.Ready = true
	options := []simulator.Option{
		simulator.WithNamespace(clusterName), simulator.WithoutEvents(), simulator.WithSeed(g.seed),
		simulator.WithHooks(simulator.Hooks{PowerOn: m.booted}),
	}
	m.operator = simulator.New(append(options, mode.options...)...)
	var err error
	if m.cluster, err = alone.CreateMetal3Cluster(ctx, m.client, clusterName, m.layout); err != nil {
		return nil, err
	}
	err = alone.Create(ctx, m.client, &infrav1.Metal3DataTemplate{ObjectMeta: m.cluster.Meta(dataTemplate), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: clusterName,
		MetaData:    &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "template", Value: dataTemplate}}},
	}})
	if err != nil {
		return nil, err
	}
	m.operate(ctx, g.plane.RESTConfig)
	if mode.begin != nil {
		return m, mode.begin(m, ctx)
	}
	return m, nil
}

// operate runs the bare-metal operator until Close.
func (m *metal3) operate(ctx context.Context, config *rest.Config) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.operator.Run(ctx, config); err != nil {
			m.complain("bare-metal operator", err.Error())
		}
	}()
	m.stop = func() { cancel(); <-ended }
}

// booted checks that a host boots what belongs to the machine that it is for.
func (m *metal3) booted(_ context.Context, boot simulator.Boot) error {
	consumer := boot.Host.Spec.ConsumerRef
	switch {
	case consumer == nil:
		m.complain("host "+boot.Host.Name, "booted for no machine")
	case len(boot.UserData) == 0:
		m.complain("host "+boot.Host.Name, "booted machine "+consumer.Name+" without user data")
	case boot.MetaData["providerid"] != strings.Join([]string{clusterName, boot.Host.Name, consumer.Name}, "/"):
		m.complain("host "+boot.Host.Name, fmt.Sprintf("booted machine %s with the metadata of %v", consumer.Name, boot.MetaData["providerid"]))
	}
	return nil
}

func (m *metal3) complain(object, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.complaints = append(m.complaints, Fault{object, what})
}

func (m *metal3) Cluster() *alone.Cluster { return m.cluster }

func (m *metal3) Domains() []string {
	names := make([]string, 0, len(m.layout.Domains))
	for _, domain := range m.layout.Domains {
		names = append(names, domain.Name)
	}
	return names
}

// Machine has its metadata from a template, which takes a claim, data and a Secret.
func (m *metal3) Machine(meta metav1.ObjectMeta) client.Object {
	machine := alone.Metal3Machine(meta)
	machine.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: dataTemplate}
	return machine
}

// Look reads the hosts before the machines: what a machine lets go of has gone before it.
func (m *metal3) Look(ctx context.Context) (sight, error) {
	hosts, data, machines := &bmov1alpha1.BareMetalHostList{}, &infrav1.Metal3DataList{}, &infrav1.Metal3MachineList{}
	for _, list := range []client.ObjectList{hosts, data, machines} {
		if err := m.client.List(ctx, list, client.InNamespace(clusterName)); err != nil {
			return sight{}, err
		}
	}
	m.mu.Lock()
	s := sight{machines: map[string]seen{}, faults: slices.Clone(m.complaints)}
	m.mu.Unlock()
	owned := map[string]string{}
	for i := range hosts.Items {
		if h, held := holdingOf(&hosts.Items[i]); held {
			s.holdings = append(s.holdings, h)
			owned[h.owner] = hosts.Items[i].Name
		}
	}
	s.faults = append(s.faults, doubledData(data.Items)...)
	for i := range machines.Items {
		machine := &machines.Items[i]
		ready := machine.Status.Initialization.Provisioned
		is := seen{ready: ready != nil && *ready, conditions: machine.Status.Conditions}
		if id := machine.Spec.ProviderID; id != "" && machine.DeletionTimestamp.IsZero() &&
			id != infrav1.ProviderIDPrefix+strings.Join([]string{clusterName, owned[machine.Name], machine.Name}, "/") {
			is.faults = append(is.faults, fmt.Sprintf("has provider ID %s, its host is %q", id, owned[machine.Name]))
		}
		s.machines[machine.Name] = is
	}
	return s, nil
}

// holdingOf is a host that somebody claims, or that is not as hosts are that nobody does.
func holdingOf(host *bmov1alpha1.BareMetalHost) (holding, bool) {
	h := holding{
		name: "host " + host.Name, domain: host.Labels[simulator.DomainLabel],
		running: host.Status.Provisioning.State == bmov1alpha1.StateProvisioned,
	}
	if consumer := host.Spec.ConsumerRef; consumer != nil {
		h.owner = consumer.Name
		return h, true
	}
	if host.Spec.Image != nil || host.Spec.UserData != nil || host.Spec.MetaData != nil {
		h.disorder = "has an image or data although nobody claims it"
	}
	return h, h.disorder != ""
}

// doubledData finds claims with more than one Metal3Data.
func doubledData(items []infrav1.Metal3Data) []Fault {
	var faults []Fault
	of := map[string]string{}
	for _, data := range items {
		if !data.DeletionTimestamp.IsZero() {
			continue
		}
		if other, doubled := of[data.Spec.Claim.Name]; doubled {
			faults = append(faults, Fault{"Metal3DataClaim " + data.Spec.Claim.Name, "has both " + other + " and " + data.Name})
		}
		of[data.Spec.Claim.Name] = data.Name
	}
	return faults
}

func (m *metal3) Disturb(ctx context.Context, random *rand.Rand) error {
	if m.mode.disturb == nil {
		return nil
	}
	return m.mode.disturb(m, ctx, random)
}

func (m *metal3) Calm(ctx context.Context) error {
	if m.mode.calm == nil {
		return nil
	}
	return m.mode.calm(m, ctx)
}

// Remains looks at everything that belongs to machines.
func (m *metal3) Remains(ctx context.Context) ([]Fault, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := m.client.List(ctx, hosts, client.InNamespace(clusterName)); err != nil {
		return nil, err
	}
	var faults []Fault
	for i := range hosts.Items {
		host := &hosts.Items[i]
		h, held := holdingOf(host)
		switch state := host.Status.Provisioning.State; {
		case held:
			faults = append(faults, Fault{h.name, "is still claimed by " + h.owner + " " + h.disorder})
		case state != bmov1alpha1.StateAvailable:
			faults = append(faults, Fault{h.name, "is still " + string(state)})
		}
	}
	objects, err := leftObjects(ctx, m.client, func(secret *corev1.Secret) bool { return strings.HasSuffix(secret.Name, "-bmc") },
		&infrav1.Metal3MachineList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{})
	return append(faults, objects...), err
}

func (m *metal3) Close() { m.stop() }

// host is one of them, drawn.
func (m *metal3) host(random *rand.Rand) types.NamespacedName {
	hosts := m.layout.Hosts(clusterName)
	return client.ObjectKeyFromObject(&hosts[random.IntN(len(hosts))])
}
