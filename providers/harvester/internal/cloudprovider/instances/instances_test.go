// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// harvesterOf is a fake Harvester with a cache and a live state.
type harvesterOf struct {
	vms       []kubevirtv1.VirtualMachine
	instances []kubevirtv1.VirtualMachineInstance
	hosts     map[string]map[string]string // labels by name
	denied    bool                         // hosts cannot be read
	hostnames map[string]string            // reported hostnames by virtual machine
	live      []types.UID                  // UIDs that exist according to the API server
	down      error
	asked     int
}

func (h *harvesterOf) VM(_ context.Context, name string) (*kubevirtv1.VirtualMachine, error) {
	for i := range h.vms {
		if h.vms[i].Name == name {
			return &h.vms[i], h.down
		}
	}
	return nil, h.down
}

func (h *harvesterOf) VMs(_ context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachine, error) {
	var list []kubevirtv1.VirtualMachine
	for i := range h.vms {
		if slices.Contains(UID(&h.vms[i]), by[UIDField]) {
			list = append(list, h.vms[i])
		}
	}
	return list, h.down
}

func (h *harvesterOf) Instance(_ context.Context, name string) (*kubevirtv1.VirtualMachineInstance, error) {
	for i := range h.instances {
		if h.instances[i].Name == name {
			return &h.instances[i], h.down
		}
	}
	return nil, h.down
}

func (h *harvesterOf) Instances(_ context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachineInstance, error) {
	var list []kubevirtv1.VirtualMachineInstance
	for i := range h.instances {
		if by == nil || slices.Contains(Hostname(&h.instances[i]), by[HostnameField]) {
			list = append(list, h.instances[i])
		}
	}
	return list, h.down
}

func (h *harvesterOf) Host(_ context.Context, name string) (*corev1.Node, error) {
	if h.denied {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, name, errors.New("no"))
	}
	labels, there := h.hosts[name]
	if !there {
		return nil, h.down
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, h.down
}

func (h *harvesterOf) Hostname(_ context.Context, vmi string) (string, error) {
	h.asked++
	return h.hostnames[vmi], h.down
}

func (h *harvesterOf) IsDeleted(_ context.Context, name string, uid types.UID) (bool, error) {
	return !slices.Contains(h.live, uid) && !slices.Contains(h.live, types.UID(name)), h.down
}

func vm(name string) kubevirtv1.VirtualMachine {
	return kubevirtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name + "-uid")}, Status: kubevirtv1.VirtualMachineStatus{Created: true},
	}
}

func instance(name string, ips ...string) kubevirtv1.VirtualMachineInstance {
	i := kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name + "-run")}}
	i.Spec.Networks = []kubevirtv1.Network{
		{Name: "pods"},
		{Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "vlan-1"}}},
		{Name: "nic-2", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan-2"}}},
	}
	i.Status.Phase = kubevirtv1.Running
	i.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceAgentConnected, Status: corev1.ConditionTrue}}
	i.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{
		{Name: "pods", IP: "10.52.0.9"}, {Name: "nic-1", IPs: ips, InterfaceName: "enp2s0"},
		{Name: "nic-2", IP: "10.2.0.1", InterfaceName: "enp3s0"}, {InterfaceName: "cilium_host", IP: "10.42.0.1"},
	}
	return i
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func of(h *harvesterOf, nodes ...*corev1.Node) *Instances {
	known := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for _, n := range nodes {
		if err := known.Add(n); err != nil {
			panic(err)
		}
	}
	return New(h, corelisters.NewNodeLister(known), AddressOptions{}, func(string) bool { return false })
}

func TestFindVirtualMachineOfNode(t *testing.T) {
	renamed := instance("vm-3")
	renamed.Spec.Hostname = "told"
	h := &harvesterOf{
		vms:       []kubevirtv1.VirtualMachine{vm("node-1"), vm("vm-2"), vm("vm-3"), vm("vm-4")},
		instances: []kubevirtv1.VirtualMachineInstance{instance("node-1"), instance("vm-2"), renamed, instance("vm-4")},
		hostnames: map[string]string{"vm-4": "chosen", "vm-2": "vm-2"},
	}
	for name, c := range map[string]struct {
		node *corev1.Node
		want string
	}{
		"by ID":                             {node("anything", "harvester://vm-2-uid"), "vm-2"},
		"by ID, not by name":                {node("node-1", "harvester://vm-2-uid"), "vm-2"},
		"not by name where the ID is other": {node("node-1", "harvester://former-uid"), ""},
		"by name":                           {node("node-1", ""), "node-1"},
		"by name where the ID is foreign":   {node("node-1", "rke2://node-1"), "node-1"},
		"by its hostname":                   {node("told", ""), "vm-3"},
		"by the hostname that it has":       {node("chosen", ""), "vm-4"},
		"not at all":                        {node("else", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := of(h).find(t.Context(), c.node)
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			if c.want == "" {
				g.Expect(found).To(BeNil())
				return
			}
			g.Expect(found).To(HaveField("Name", c.want))
		})
	}
}

func TestDuplicateHostnamesAreRejected(t *testing.T) {
	g := NewWithT(t)
	h := &harvesterOf{
		vms:       []kubevirtv1.VirtualMachine{vm("vm-1"), vm("vm-2")},
		instances: []kubevirtv1.VirtualMachineInstance{instance("vm-1"), instance("vm-2")}, hostnames: map[string]string{"vm-1": "same", "vm-2": "same"},
	}
	i := of(h)
	for range 3 {
		_, err := i.find(t.Context(), node("same", ""))
		g.Expect(err).To(MatchError(ContainSubstring("vm-1 and vm-2 have the same hostname same")))
	}
	g.Expect(h.asked).To(Equal(2), "each guest is asked once")
}

func TestInstanceExists(t *testing.T) {
	this, other := node("node-1", "harvester://node-1-uid"), node("node-2", "harvester://node-2-uid")
	for name, c := range map[string]struct {
		harvester *harvesterOf
		was       []kubevirtv1.VirtualMachine // existed earlier
		exists    bool
		wantError string
	}{
		"it is there":                          {&harvesterOf{vms: []kubevirtv1.VirtualMachine{vm("node-1")}}, nil, true, ""},
		"it is gone":                           {&harvesterOf{vms: []kubevirtv1.VirtualMachine{vm("node-2")}}, nil, false, ""},
		"it has gone":                          {&harvesterOf{}, []kubevirtv1.VirtualMachine{vm("node-1")}, false, ""},
		"none is there, nor has been":          {&harvesterOf{}, nil, false, "set it in the context of the kubeconfig"},
		"it is new":                            {&harvesterOf{vms: []kubevirtv1.VirtualMachine{vm("node-2")}, live: []types.UID{"node-1-uid"}}, nil, true, ""},
		"nobody answers":                       {&harvesterOf{down: errors.New("down")}, []kubevirtv1.VirtualMachine{vm("node-1")}, false, "down"},
		"another one has taken its name":       {&harvesterOf{vms: []kubevirtv1.VirtualMachine{renewed(), vm("node-2")}, live: []types.UID{"renewed"}}, nil, false, ""},
		"unavailable API server, found before": {&harvesterOf{vms: []kubevirtv1.VirtualMachine{vm("node-1")}, down: errors.New("down")}, nil, false, "down"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := of(c.harvester, this, other)
			if c.was != nil {
				now := *c.harvester
				c.harvester.vms, c.harvester.down = c.was, nil
				g.Expect(i.InstanceExists(t.Context(), this)).To(BeTrue())
				*c.harvester = now
			}
			exists, err := i.InstanceExists(t.Context(), this)
			if c.wantError != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wantError)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(exists).To(Equal(c.exists))
		})
	}
}

// renewed returns a virtual machine that has the name of a deleted one.
func renewed() kubevirtv1.VirtualMachine {
	v := vm("node-1")
	v.UID = "renewed"
	return v
}

func TestInstanceShutdown(t *testing.T) {
	in := func(phase kubevirtv1.VirtualMachineInstancePhase) []kubevirtv1.VirtualMachineInstance {
		i := instance("node-1")
		i.Status.Phase = phase
		return []kubevirtv1.VirtualMachineInstance{i}
	}
	created, off := vm("node-1"), vm("node-1")
	off.Status.Created = false
	for name, c := range map[string]struct {
		vm        kubevirtv1.VirtualMachine
		instances []kubevirtv1.VirtualMachineInstance
		want      bool
	}{
		"running":               {created, in(kubevirtv1.Running), false},
		"starting":              {created, in(kubevirtv1.Scheduling), false},
		"between two instances": {created, nil, false},
		"off":                   {off, nil, true},
		"ended":                 {created, in(kubevirtv1.Succeeded), true},
		"failed":                {created, in(kubevirtv1.Failed), true},
	} {
		t.Run(name, func(t *testing.T) {
			i := of(&harvesterOf{vms: []kubevirtv1.VirtualMachine{c.vm}, instances: c.instances})
			NewWithT(t).Expect(i.InstanceShutdown(t.Context(), node("node-1", ""))).To(Equal(c.want))
		})
	}
	g := NewWithT(t)
	_, err := of(&harvesterOf{}).InstanceShutdown(t.Context(), node("node-1", ""))
	g.Expect(err).To(MatchError(ContainSubstring("instance not found")))
	_, err = of(&harvesterOf{}).InstanceMetadata(t.Context(), node("node-1", ""))
	g.Expect(err).To(MatchError(ContainSubstring("instance not found")))
}

func TestLocationComesFromHostOrAnnotations(t *testing.T) {
	zone := func(name string) map[string]string {
		return map[string]string{corev1.LabelTopologyZone: name, corev1.LabelTopologyRegion: "south"}
	}
	for name, c := range map[string]struct {
		harvester *harvesterOf
		noted     map[string]string
		host      string
		want      location
	}{
		"host":                          {&harvesterOf{hosts: map[string]map[string]string{"h": zone("a")}}, zone("old"), "h", location{"a", "south", true}},
		"host without labels":           {&harvesterOf{hosts: map[string]map[string]string{"h": {}}}, zone("noted"), "h", location{"noted", "south", true}},
		"host with a region alone":      {&harvesterOf{hosts: map[string]map[string]string{"h": {corev1.LabelTopologyRegion: "west"}}}, zone("noted"), "h", location{"", "west", true}},
		"hosts that may not be seen":    {&harvesterOf{denied: true}, zone("noted"), "h", location{"noted", "south", false}},
		"host that is gone":             {&harvesterOf{}, zone("noted"), "h", location{"noted", "south", false}},
		"no host yet":                   {&harvesterOf{}, nil, "", location{}},
		"neither host's nor its labels": {&harvesterOf{denied: true}, nil, "h", location{}},
	} {
		t.Run(name, func(t *testing.T) {
			i := instance("node-1")
			i.Annotations, i.Status.NodeName = c.noted, c.host
			NewWithT(t).Expect(of(c.harvester).locate(t.Context(), &i)).To(Equal(c.want))
		})
	}
	i := instance("node-1")
	i.Status.NodeName = "h"
	_, err := of(&harvesterOf{down: errors.New("down")}).locate(t.Context(), &i)
	NewWithT(t).Expect(err).To(MatchError("down"), "an unavailable API server does not remove the zone")
}

func TestNodeAddressesFollowOptions(t *testing.T) {
	prefixes := func(list ...string) []netip.Prefix {
		var all []netip.Prefix
		for _, text := range list {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	reported := []string{"fe80::1", "127.0.0.1", "10.1.0.1", "fd00::1", "10.1.0.2", "10.1.0.250", "fd00::2"}
	for name, c := range map[string]struct {
		options     AddressOptions
		annotations map[string]string
		want        []string
	}{
		"first of each family is internal": {want: []string{"I 10.1.0.1", "I fd00::1", "E 10.1.0.2", "E fd00::2", "H node-1"}},
		"another network":                  {options: AddressOptions{Network: "default/vlan-2"}, want: []string{"I 10.2.0.1", "H node-1"}},
		"network of its own namespace": {
			options: AddressOptions{Network: "team/vlan-1"}, want: []string{"I 10.1.0.1", "I fd00::1", "E 10.1.0.2", "E fd00::2", "H node-1"},
		},
		"address of kubelet": {
			annotations: map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.1.0.2", additionalAnnotation: `["10.1.0.1"]`},
			want:        []string{"E fd00::1", "I 10.1.0.2", "E fd00::2", "H node-1"},
		},
		"addresses of kubelet in both families": {
			annotations: map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.1.0.2,fd00::2"},
			want:        []string{"E 10.1.0.1", "E fd00::1", "I 10.1.0.2", "I fd00::2", "H node-1"},
		},
		"additional ones are left out": {
			annotations: map[string]string{additionalAnnotation: `["10.1.0.2","fd00::2","10.1.0.1"]`}, want: []string{"I 10.1.0.1", "I fd00::1", "H node-1"},
		},
		"malformed list": {annotations: map[string]string{additionalAnnotation: `10.1.0.2`}, want: []string{"I 10.1.0.1", "I fd00::1", "E 10.1.0.2", "E fd00::2", "H node-1"}},
		"by CIDR": {
			options: AddressOptions{Internal: prefixes("10.1.0.2/31"), Excluded: prefixes("fd00::/64")},
			want:    []string{"E 10.1.0.1", "I 10.1.0.2", "H node-1"},
		},
		"kubelet disregarded": {
			options:     AddressOptions{IgnoreProvided: true},
			annotations: map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "10.1.0.2", additionalAnnotation: `["fd00::2"]`},
			want:        []string{"I 10.1.0.1", "I fd00::1", "E 10.1.0.2", "E fd00::2", "H node-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			n, i := node("node-1", ""), instance("node-1", reported...)
			n.Annotations = c.annotations
			list, err := c.options.Of(n, &i, func(address string) bool { return address == "10.1.0.250" })
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, a := range list {
				got = append(got, string(a.Type[:1])+" "+a.Address)
			}
			g.Expect(got).To(Equal(c.want), "the address of a load balancer is not the Node's")
		})
	}
}

func TestNodeWithoutReportedAddresses(t *testing.T) {
	g := NewWithT(t)
	none := func(string) bool { return false }
	n, i := node("node-1", ""), instance("node-1")
	_, err := AddressOptions{Network: "default/other"}.Of(n, &i, none)
	g.Expect(err).To(MatchError(ContainSubstring("has not reported an address of network default/other")))
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.1"}}
	g.Expect(AddressOptions{}.Of(n, &i, none)).To(BeEmpty())
}

func TestNodeIsInitializedWithAddressOfKubelet(t *testing.T) {
	g := NewWithT(t)
	n, silent, podsOnly := node("node-1", ""), instance("node-1"), instance("node-1", "10.1.0.1")
	podsOnly.Spec.Networks = []kubevirtv1.Network{{Name: "default", NetworkSource: kubevirtv1.NetworkSource{Pod: &kubevirtv1.PodNetwork{}}}}
	n.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
	n.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "192.168.50.9"}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.50.9"}, {Type: corev1.NodeHostName, Address: "node-1"}}
	for _, i := range []*kubevirtv1.VirtualMachineInstance{&silent, &podsOnly} {
		g.Expect(AddressOptions{}.Of(n, i, func(string) bool { return false })).To(Equal(n.Status.Addresses))
	}
}

func TestInterfaceInNetworkMustBeTheSameOnAllNodes(t *testing.T) {
	g := NewWithT(t)
	h := &harvesterOf{
		vms:       []kubevirtv1.VirtualMachine{vm("node-1"), vm("node-2"), vm("stranger")},
		instances: []kubevirtv1.VirtualMachineInstance{instance("node-1"), instance("node-2"), instance("stranger")},
	}
	i := of(h, node("node-1", ""), node("node-2", ""), node("elsewhere", ""))
	g.Expect(i.NIC(t.Context(), "default/vlan-2")).To(Equal("enp3s0"))
	_, err := i.NIC(t.Context(), "default/vlan-3")
	g.Expect(err).To(MatchError(ContainSubstring("has no interface in network")))
	h.instances[1].Status.Interfaces[2].InterfaceName = "eth7"
	_, err = i.NIC(t.Context(), "default/vlan-2")
	g.Expect(err).To(MatchError(ContainSubstring("it must have the same name on all Nodes")))
	h.instances[0].Status.Conditions, h.instances[1].Status.Conditions = nil, nil
	g.Expect(i.NIC(t.Context(), "default/vlan-2")).To(BeEmpty(), "no guest has said anything yet")
}

func TestInterfaceInNetworkUsesAnnouncingNodes(t *testing.T) {
	g := NewWithT(t)
	h := &harvesterOf{
		vms:       []kubevirtv1.VirtualMachine{vm("control-1"), vm("control-2"), vm("worker")},
		instances: []kubevirtv1.VirtualMachineInstance{instance("control-1"), instance("control-2"), instance("worker")},
	}
	worker := &h.instances[2]
	worker.Spec.Networks, worker.Status.Interfaces = worker.Spec.Networks[:1], worker.Status.Interfaces[:1]
	var nodes []*corev1.Node
	for _, name := range []string{"control-1", "control-2", "worker"} {
		nodes = append(nodes, node(name, ""))
	}
	_, err := of(h, nodes...).NIC(t.Context(), "default/vlan-2")
	g.Expect(err).To(MatchError(ContainSubstring("Node worker has no interface in network default/vlan-2")), "each may announce addresses")
	for _, n := range nodes[:2] {
		n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": "true"}
	}
	i := of(h, nodes...)
	g.Expect(i.NIC(t.Context(), "default/vlan-2")).To(Equal("enp3s0"))
	g.Expect(i.NIC(t.Context(), "team/vlan-1")).To(Equal("enp2s0"))
	g.Expect(i.NIC(t.Context(), "vlan-1")).To(Equal("enp2s0"), "a network of the machines' own namespace")
	for n := range h.instances[1].Status.Interfaces {
		h.instances[1].Status.Interfaces[n].InterfaceName = ""
	}
	g.Expect(i.NIC(t.Context(), "default/vlan-2")).To(Equal("enp3s0"), "one that has not said yet")
	h.instances[0].Status.Interfaces = nil
	g.Expect(i.NIC(t.Context(), "default/vlan-2")).To(BeEmpty(), "not reported yet")
	h.instances[0].Spec.Networks = nil
	_, err = i.NIC(t.Context(), "default/vlan-2")
	g.Expect(err).To(MatchError(ContainSubstring("Node control-1 has no interface in network default/vlan-2")))
}

func TestNodeLocationKeepsUnknownValues(t *testing.T) {
	g := NewWithT(t)
	machine := vm("node-1")
	n := node("node-1", "")
	n.Labels = map[string]string{
		corev1.LabelTopologyZone: "a", corev1.LabelFailureDomainBetaZone: "a", corev1.LabelTopologyRegion: "south", corev1.LabelFailureDomainBetaRegion: "south",
	}
	n.Annotations = map[string]string{machineAnnotation: "team/node-1", zoneAnnotation: "a", regionAnnotation: "south"}
	none := change{map[string]*string{}, map[string]*string{}}
	g.Expect(changeOf(n, &machine, location{zone: "a", region: "south", certain: true})).To(Equal(none), "it knows")
	g.Expect(changeOf(n, &machine, location{zone: "b"})).To(Equal(change{
		map[string]*string{corev1.LabelTopologyZone: ptr.To("b"), corev1.LabelFailureDomainBetaZone: ptr.To("b")},
		map[string]*string{zoneAnnotation: ptr.To("b")},
	}))
	delete(n.Annotations, machineAnnotation)
	g.Expect(changeOf(n, &machine, location{}).Annotations).To(Equal(map[string]*string{machineAnnotation: ptr.To("team/node-1")}))
}

func TestNodeLosesZoneOfHostUnlessForeign(t *testing.T) {
	machine := vm("node-1")
	labels := func(zone string) map[string]string {
		return map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelFailureDomainBetaZone: zone, corev1.LabelTopologyRegion: "south"}
	}
	told := map[string]string{machineAnnotation: "team/node-1", zoneAnnotation: "a", regionAnnotation: "south"}
	for name, c := range map[string]struct {
		labels, annotations map[string]string
		at                  location
		want                change
	}{
		"of a labelled host": {labels("a"), told, location{region: "south", certain: true}, change{
			map[string]*string{corev1.LabelTopologyZone: nil, corev1.LabelFailureDomainBetaZone: nil, corev1.LabelFailureDomainBetaRegion: ptr.To("south")},
			map[string]*string{zoneAnnotation: nil},
		}},
		"of a host that is not seen": {labels("a"), told, location{}, change{map[string]*string{}, map[string]*string{}}},
		"written by others": {labels("other"), told, location{region: "south", certain: true}, change{
			map[string]*string{corev1.LabelFailureDomainBetaRegion: ptr.To("south")}, map[string]*string{zoneAnnotation: nil},
		}},
		"written by an unknown client": {labels("a"), map[string]string{machineAnnotation: "team/node-1"}, location{certain: true}, change{map[string]*string{}, map[string]*string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := node("node-1", "")
			n.Labels, n.Annotations = c.labels, c.annotations
			NewWithT(t).Expect(changeOf(n, &machine, c.at)).To(Equal(c.want))
		})
	}
}
