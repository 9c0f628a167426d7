// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package clustermodule_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
)

const here, there, single = "ClusterComputeResource:domain-c1", "ClusterComputeResource:domain-c2", "ComputeResource:domain-s3"

var (
	plane   = clustermodule.Target{ControlPlane: true, Name: "one"}
	workers = clustermodule.Target{Name: "one"} // with the same name
	// elsewhere is workers on another vCenter.
	elsewhere = clustermodule.Target{Name: "one", Server: "elsewhere.example.com"}
)

func TestTargetOf(t *testing.T) {
	g := NewWithT(t)
	cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: "vc.example.com"}}
	labelled := func(labels map[string]string) *infrav1.VSphereVM {
		vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		vm.Spec.Server = cluster.Spec.Server
		return vm
	}
	controlPlane := labelled(map[string]string{"cluster.x-k8s.io/control-plane": ""})
	deployment := labelled(map[string]string{"cluster.x-k8s.io/deployment-name": "one"})
	target, ok := clustermodule.TargetOf(controlPlane, cluster, "one")
	g.Expect(target).To(Equal(plane))
	g.Expect(ok).To(BeTrue())
	_, ok = clustermodule.TargetOf(controlPlane, cluster, "")
	g.Expect(ok).To(BeFalse(), "control-plane machines without an owner")
	target, ok = clustermodule.TargetOf(deployment, cluster, "other")
	g.Expect(target).To(Equal(workers))
	g.Expect(ok).To(BeTrue())
	_, ok = clustermodule.TargetOf(labelled(nil), cluster, "one")
	g.Expect(ok).To(BeFalse(), "a machine of its own")
	deployment.Spec.Server = "elsewhere.example.com"
	_, ok = clustermodule.TargetOf(deployment, cluster, "other")
	g.Expect(ok).To(BeFalse(), "a machine on another server")
	cluster.Spec.AdditionalServers = []string{"Elsewhere.example.com:443"}
	_, ok = clustermodule.TargetOf(deployment, cluster, "other")
	g.Expect(ok).To(BeFalse(), "a machine on an additional server, but in no zone")
	deployment.Spec.Placement.FailureDomain = "zone"
	target, ok = clustermodule.TargetOf(deployment, cluster, "other")
	g.Expect(target).To(Equal(clustermodule.Target{Name: "one", Server: "elsewhere.example.com"}))
	g.Expect(ok).To(BeTrue())
	g.Expect(clustermodule.Servers(cluster)).To(Equal([]string{"", "elsewhere.example.com"}))
}

func TestVCenterThatRefusesModulesConcernsItsMachinesOnly(t *testing.T) {
	g := NewWithT(t)
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: infrav1.VSphereClusterClusterModulesReadyCondition, Status: status}}
	}
	cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: "vc.example.com"}}
	g.Expect(clustermodule.Refused(cluster, workers)).To(BeFalse(), "not known yet")
	cluster.Status.Conditions = ready(metav1.ConditionFalse)
	g.Expect(clustermodule.Refused(cluster, workers)).To(BeTrue(), "the only vCenter")
	cluster.Spec.AdditionalServers = []string{"elsewhere.example.com:443"}
	cluster.Status.Servers = []infrav1.VSphereClusterServerStatus{{Server: "VC.example.com"}, {Server: "elsewhere.example.com:443", Conditions: ready(metav1.ConditionFalse)}}
	g.Expect(clustermodule.Refused(cluster, elsewhere)).To(BeTrue())
	g.Expect(clustermodule.Refused(cluster, workers)).To(BeFalse(), "its vCenter has not refused yet")
	cluster.Status.Servers[0].Conditions = ready(metav1.ConditionTrue)
	g.Expect(clustermodule.Refused(cluster, workers)).To(BeFalse())
	third := clustermodule.Target{Name: "one", Server: "third.example.com"}
	g.Expect(clustermodule.Refused(cluster, third)).To(BeFalse(), "it was just added")
}

func TestModulesOfExchangedServers(t *testing.T) {
	g := NewWithT(t)
	cluster := &infrav1.VSphereCluster{Spec: infrav1.VSphereClusterSpec{Server: "elsewhere.example.com:443", AdditionalServers: []string{"vc.example.com"}}}
	third := clustermodule.Target{Name: "one", Server: "third.example.com"}
	before := []infrav1.ClusterModule{clustermodule.Record(elsewhere, "e"), clustermodule.Record(workers, "w"), clustermodule.Record(third, "t")}
	g.Expect(clustermodule.Relative(cluster, before)).To(Equal([]infrav1.ClusterModule{
		clustermodule.Record(workers, "e"), clustermodule.Record(workers, "w"), clustermodule.Record(third, "t"),
	}))
	g.Expect(before[0].Server).NotTo(BeEmpty(), "the spec is compared with its former state")
}

func TestDecide(t *testing.T) {
	record := clustermodule.Record
	both := []clustermodule.Target{plane, workers}
	for _, tc := range []struct {
		name     string
		recorded []infrav1.ClusterModule
		targets  []clustermodule.Target
		wanted   []clustermodule.Wanted
		where    clustermodule.Where
		want     clustermodule.Plan
	}{
		{name: "no machine, no module", targets: both},
		{
			name: "one for each target and compute cluster", targets: both,
			wanted: []clustermodule.Wanted{{plane, here}, {plane, there}, {plane, here}, {workers, here}, {workers, single}},
			want:   clustermodule.Plan{Create: []clustermodule.Wanted{{plane, here}, {plane, there}, {workers, here}}},
		},
		{
			name: "what is there is kept, with and without machines", targets: both,
			recorded: []infrav1.ClusterModule{record(plane, "p"), record(workers, "w")}, wanted: []clustermodule.Wanted{{plane, here}},
			where: clustermodule.Where{"p": here, "w": there},
			want:  clustermodule.Plan{Keep: []infrav1.ClusterModule{record(plane, "p"), record(workers, "w")}},
		},
		{
			name: "another compute cluster needs another", targets: both,
			recorded: []infrav1.ClusterModule{record(plane, "p")}, wanted: []clustermodule.Wanted{{plane, there}}, where: clustermodule.Where{"p": here},
			want: clustermodule.Plan{Keep: []infrav1.ClusterModule{record(plane, "p")}, Create: []clustermodule.Wanted{{plane, there}}},
		},
		{
			name: "one that is not listed may be where it is needed", targets: both,
			recorded: []infrav1.ClusterModule{record(plane, "p")}, wanted: []clustermodule.Wanted{{plane, there}},
			want: clustermodule.Plan{Keep: []infrav1.ClusterModule{record(plane, "p")}},
		},
		{
			name: "compute clusters of two vCenters have the same reference", targets: []clustermodule.Target{elsewhere},
			recorded: []infrav1.ClusterModule{record(workers, "w")}, wanted: []clustermodule.Wanted{{elsewhere, here}}, where: clustermodule.Where{"w": here},
			want: clustermodule.Plan{Remove: []infrav1.ClusterModule{record(workers, "w")}, Create: []clustermodule.Wanted{{elsewhere, here}}},
		},
		{
			name: "a target that is gone takes its module along", targets: both[:1],
			recorded: []infrav1.ClusterModule{record(plane, "p"), record(workers, "w")}, wanted: []clustermodule.Wanted{{workers, here}},
			where: clustermodule.Where{"p": here, "w": here},
			want:  clustermodule.Plan{Keep: []infrav1.ClusterModule{record(plane, "p")}, Remove: []infrav1.ClusterModule{record(workers, "w")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			NewWithT(t).Expect(clustermodule.Decide(tc.recorded, tc.targets, tc.wanted, tc.where)).To(Equal(tc.want))
		})
	}
}
