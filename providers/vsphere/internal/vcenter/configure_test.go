// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// bareRack returns a zone of the HostGroups layout without groups and tags, for which everything must be created.
func bareRack() (simulator.Layout, vcenter.ZoneSpec) {
	layout := simulator.HostGroups()
	layout.Tags = nil
	cluster := &layout.Datacenters[0].Clusters[0]
	cluster.HostGroups, cluster.VMGroups, cluster.Rules = nil, nil, nil
	zone := rackZone("a")
	zone.Configure = vcenter.Configure{Region: true, Zone: true, Groups: true, HostNames: []string{"host-a-1", "host-a-2"}}
	return layout, zone
}

// manager plays a management cluster with its records and mark.
type manager struct {
	t       *testing.T
	session *vcenter.Session
	mark    string
	records map[vcenter.ConfiguredItem]vcenter.ConfiguredRecord
}

func (m *manager) plan(zone vcenter.ZoneSpec) vcenter.ZonePlan {
	m.t.Helper()
	plan, err := m.session.PlanZone(m.t.Context(), zone, m.records, m.mark)
	if err != nil {
		m.t.Fatal(err)
	}
	m.records = plan.Records
	return plan
}

// take executes the steps of a plan and returns the outcome.
func (m *manager) take(plan vcenter.ZonePlan) vcenter.Outcome {
	m.t.Helper()
	var outcome vcenter.Outcome
	eventually(m.t, func() error {
		if outcome = m.session.ConfigureZone("zone", plan.Steps, m.mark, time.Hour); outcome.Running {
			return errors.New("it is running")
		}
		return nil
	})
	for item := range outcome.NotOurs {
		delete(m.records, item)
	}
	return outcome
}

// settle plans and executes until there is nothing left to do.
func (m *manager) settle(zone vcenter.ZoneSpec) {
	m.t.Helper()
	for range 5 {
		plan := m.plan(zone)
		if len(plan.Steps) == 0 {
			return
		}
		if err := m.take(plan).Err(); err != nil {
			m.t.Fatal(err)
		}
	}
	m.t.Fatal("there is always something left to be done")
}

func (m *manager) release() {
	m.t.Helper()
	eventually(m.t, func() error {
		outcome := m.session.ReleaseZone("zone", vcenter.SurplusOf(m.records), m.mark, time.Hour)
		if outcome.Running {
			return errors.New("it is running")
		}
		return outcome.Err()
	})
}

// Two management clusters have failure domains with the same names.
func TestTwoManagementClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	layout, zone := bareRack()
	r := newRig(t, layout)
	s := r.session()
	one := &manager{t: t, session: s, mark: "of one"}
	other := &manager{t: t, session: s, mark: "of another"}
	one.settle(zone)
	g.Expect(one.records).To(HaveLen(10), "three of the cluster, a category, a tag and an object for the region, two objects for the zone")

	plan := other.plan(zone)
	g.Expect(plan.Steps).To(BeEmpty())
	g.Expect(other.records).To(BeEmpty(), "it uses what the first has made")
	g.Expect(r.server.DisableRule("cluster-1", "rack-a-vms-rule", true)).To(Succeed())
	zone.Configure.Repair = true
	eventually(t, func() error {
		if len(one.plan(zone).Steps) == 0 {
			return errors.New("the rule's owner is to repair it")
		}
		return nil
	})
	g.Expect(other.plan(zone).Steps).To(BeEmpty(), "it is not the other's")
	g.Expect(vcenter.SurplusOf(other.records)).To(BeEmpty())
	one.settle(zone)
	one.release()
	g.Expect(r.server.Tags()).To(BeEmpty())
	g.Expect(r.server.Rules("cluster-1")).To(BeEmpty())
}

// Names are cached for some minutes: a deleted tag must not be mistaken for the tag that replaces it.
func TestRemovedItemsAreRecreated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	layout, zone := bareRack()
	r := newRig(t, layout)
	m := &manager{t: t, session: r.session(), mark: "of one"}
	for range 3 {
		m.settle(zone)
		plan := m.plan(zone)
		g.Expect(plan.Drift).To(BeEmpty())
		g.Expect(plan.Records).To(HaveLen(10))
		g.Expect(r.server.Tags()).To(HaveLen(2))
		m.release()
		g.Expect(r.server.Tags()).To(BeEmpty())
		m.records = nil
	}
}

// Both management clusters find nothing, and create the items at the same time.
func TestExistingItemsAreNotOwned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	layout, zone := bareRack()
	s := newRig(t, layout).session()
	one := &manager{t: t, session: s, mark: "of one"}
	other := &manager{t: t, session: s, mark: "of another"}
	late := other.plan(zone)
	one.settle(zone)
	outcome := other.take(late)
	g.Expect(outcome.Err()).To(MatchError(ContainSubstring("another client has just created it")))
	for item := range other.records {
		g.Expect(item.Kind).To(BeEquivalentTo("TagAttachment"), "%s", item)
	}
	g.Expect(one.plan(zone).Steps).To(BeEmpty())
	g.Expect(one.plan(zone).Drift).To(BeEmpty())
}
