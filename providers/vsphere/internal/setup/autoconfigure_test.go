// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// bareHosts is simulator.HostGroups before anybody has made a group, a rule or a tag.
func bareHosts() simulator.Layout {
	layout := simulator.HostGroups()
	layout.Tags = nil
	for i := range layout.Datacenters[0].Clusters {
		cluster := &layout.Datacenters[0].Clusters[i]
		cluster.HostGroups, cluster.VMGroups, cluster.Rules = nil, nil, nil
	}
	return layout
}

// bareRack is a zone of the hosts of a rack, for which everything is to be made.
func (w *world) bareRack(letter string, changes ...func(*infrav1.VSphereDeploymentZone, *infrav1.VSphereFailureDomain)) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	return w.zone(letter, infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore},
		func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Region.Type, d.Spec.Region.AutoConfigure = infrav1.ComputeClusterFailureDomain, ptr.To(true)
			d.Spec.Zone.Type, d.Spec.Zone.AutoConfigure = infrav1.HostGroupFailureDomain, ptr.To(true)
			d.Spec.Topology.Hosts = infrav1.FailureDomainHosts{
				AutoConfigure: ptr.To(true), HostNames: []string{"host-" + letter + "-1", "host-" + letter + "-2"},
			}
			for _, change := range changes {
				change(z, d)
			}
		})
}

// is waits until autoConfigure has come to an end of that reason, and returns the message.
func (w *world) autoConfigured(zone *infrav1.VSphereDeploymentZone, reason string) string {
	w.t.Helper()
	return w.condition(zone, infrav1.VSphereDeploymentZoneAutoConfiguredCondition, reason)
}

func TestStory1FromAnEmptyComputeCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bareHosts())
	w.cluster("one")
	var zones []*infrav1.VSphereDeploymentZone
	for _, letter := range []string{"a", "b", "c"} {
		zones = append(zones, w.bareRack(letter))
	}
	for i, zone := range zones {
		letter := string(rune('a' + i))
		w.autoConfigured(zone, infrav1.VSphereDeploymentZoneAutoConfiguredReason)
		machine := w.machine("one", "cp-"+letter, zone.Name)
		w.provisioned(machine)
		w.Expect(w.vms()["cp-"+letter].Host).To(HavePrefix("host-"+letter+"-"), "DRS runs it on the zone's hosts")
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
	}
}
