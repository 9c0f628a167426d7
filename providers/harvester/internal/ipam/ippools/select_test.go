// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ippools_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// Scopes of pools.
var (
	all       = lbv1.Tuple{Project: "*", Namespace: "*", GuestCluster: "*"}
	inDefault = lbv1.Tuple{Project: "*", Namespace: "default", GuestCluster: "*"}
)

func selecting(name, network string, priority uint32, scope ...lbv1.Tuple) lbv1.IPPool {
	return lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lbv1.IPPoolSpec{Selector: lbv1.Selector{Network: network, Priority: priority, Scope: scope}},
	}
}

// inVLAN returns a pool without a network whose label has the VLAN of its addresses.
func inVLAN(name, vlan string) lbv1.IPPool {
	pool := selecting(name, "", 0, lbv1.Tuple{Namespace: "default", GuestCluster: "*"})
	pool.Labels = map[string]string{lbv1.VLANLabel: vlan}
	return pool
}

func onNetwork(pool lbv1.IPPool, network string) lbv1.IPPool {
	pool.Spec.Selector.Network = network
	return pool
}

func TestSelect(t *testing.T) {
	t.Parallel()
	gone := selecting("gone", "", 9, inDefault)
	gone.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	expectChosen(t, map[string]choice{
		"the one of the network":                               {[]lbv1.IPPool{selecting("a", "default/vlan1", 0, inDefault), selecting("b", "default/vlan2", 0, inDefault)}, ippools.Requirement{Network: "default/vlan2", Namespace: "default"}, "b"},
		"none of another network":                              {[]lbv1.IPPool{selecting("a", "default/vlan1", 0, inDefault)}, ippools.Requirement{Network: "default/vlan2", Namespace: "default"}, ""},
		"none for a network for who requires none":             {[]lbv1.IPPool{selecting("a", "default/vlan1", 0, inDefault)}, ippools.Requirement{Namespace: "default"}, ""},
		"none without a network for who requires one":          {[]lbv1.IPPool{selecting("a", "", 0, inDefault)}, ippools.Requirement{Network: "default/vlan1", Namespace: "default"}, ""},
		"a network of the own namespace":                       {[]lbv1.IPPool{selecting("a", "default/vlan1", 0, inDefault)}, ippools.Requirement{Network: "vlan1", Namespace: "default"}, "a"},
		"a network of the same name elsewhere":                 {[]lbv1.IPPool{selecting("a", "other/vlan1", 0, inDefault)}, ippools.Requirement{Network: "vlan1", Namespace: "default"}, ""},
		"the namespace":                                        {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "*", Namespace: "other", GuestCluster: "*"}), selecting("b", "", 0, inDefault)}, ippools.Requirement{Namespace: "default"}, "b"},
		"the project":                                          {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "local/p-1", Namespace: "*", GuestCluster: "*"})}, ippools.Requirement{Project: "local/p-2", Namespace: "default"}, ""},
		"the project as the proposal writes it":                {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "local:p-1", Namespace: "*", GuestCluster: "*"})}, ippools.Requirement{Project: "local/p-1", Namespace: "default"}, "a"},
		"the project as Rancher's user interface writes it":    {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "local/p-1", Namespace: "*", GuestCluster: "*"})}, ippools.Requirement{Project: "local:p-1", Namespace: "default"}, "a"},
		"the cluster":                                          {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "*", Namespace: "*", GuestCluster: "one"}), selecting("b", "", 0, lbv1.Tuple{Project: "*", Namespace: "*", GuestCluster: "two"})}, ippools.Requirement{Namespace: "default", Cluster: "two"}, "b"},
		"the second of its scopes":                             {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "*", Namespace: "other", GuestCluster: "*"}, inDefault)}, ippools.Requirement{Namespace: "default"}, "a"},
		"a requirement that takes any":                         {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "p", Namespace: "n", GuestCluster: "c"})}, ippools.Requirement{Project: "*", Namespace: "*", Cluster: "*"}, "a"},
		"the highest priority":                                 {[]lbv1.IPPool{selecting("a", "", 1, inDefault), selecting("b", "", 100, inDefault), selecting("c", "", 50, inDefault)}, ippools.Requirement{Namespace: "default"}, "b"},
		"the first by name of a tie":                           {[]lbv1.IPPool{selecting("c", "", 5, inDefault), selecting("b", "", 5, inDefault), selecting("d", "", 5, inDefault)}, ippools.Requirement{Namespace: "default"}, "b"},
		"its own before the global one":                        {[]lbv1.IPPool{selecting("a", "", 100, all), selecting("b", "", 0, inDefault)}, ippools.Requirement{Namespace: "default"}, "b"},
		"the global one otherwise":                             {[]lbv1.IPPool{selecting("a", "", 0, all), selecting("b", "", 0, lbv1.Tuple{Project: "*", Namespace: "other", GuestCluster: "*"})}, ippools.Requirement{Namespace: "default"}, "a"},
		"a global one without a network for any":               {[]lbv1.IPPool{selecting("a", "", 0, all)}, ippools.Requirement{Network: "default/vlan1", Namespace: "default"}, "a"},
		"no global one of another network":                     {[]lbv1.IPPool{selecting("a", "default/vlan2", 0, all)}, ippools.Requirement{Network: "default/vlan1", Namespace: "default"}, ""},
		"a global one of a network for who requires none":      {[]lbv1.IPPool{selecting("a", "default/vlan2", 0, all)}, ippools.Requirement{Namespace: "default"}, "a"},
		"the global one of the network first":                  {[]lbv1.IPPool{selecting("a", "", 0, all), selecting("b", "default/vlan1", 0, all)}, ippools.Requirement{Network: "default/vlan1"}, "b"},
		"a scope that is more than all is not global":          {[]lbv1.IPPool{selecting("a", "", 0, all, inDefault)}, ippools.Requirement{Network: "default/vlan1"}, ""},
		"none without a scope":                                 {[]lbv1.IPPool{selecting("a", "", 0)}, ippools.Requirement{Namespace: "default"}, ""},
		"none that is being deleted":                           {[]lbv1.IPPool{gone}, ippools.Requirement{Namespace: "default"}, ""},
		"a scope that leaves the cluster out, for a cluster":   {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Namespace: "default"})}, ippools.Requirement{Project: "p", Namespace: "default", Cluster: "c", WorkloadCluster: true}, "a"},
		"a scope that leaves the cluster out, for a machine":   {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Namespace: "default"})}, ippools.Requirement{Project: "p", Namespace: "default", Cluster: "c"}, ""},
		"a scope that leaves the project out, for a machine":   {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Namespace: "default", GuestCluster: "*"})}, ippools.Requirement{Project: "p", Namespace: "default"}, "a"},
		"the project of a machine":                             {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "q", Namespace: "default"}), selecting("b", "", 0, lbv1.Tuple{Project: "p", Namespace: "default"})}, ippools.Requirement{Project: "p", Namespace: "default"}, "b"},
		"a scope that leaves the namespace out, for a cluster": {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Project: "*", GuestCluster: "*"})}, ippools.Requirement{Namespace: "default", Cluster: "c", WorkloadCluster: true}, ""},
		"the global one before one that leaves something out":  {[]lbv1.IPPool{selecting("a", "", 0, lbv1.Tuple{Namespace: "default"}), selecting("b", "", 0, all)}, ippools.Requirement{Project: "p", Namespace: "default", Cluster: "c", WorkloadCluster: true}, "b"},
		"loosely, but on the network":                          {[]lbv1.IPPool{selecting("a", "default/vlan2", 0, lbv1.Tuple{Namespace: "default"})}, ippools.Requirement{Network: "default/vlan1", Namespace: "default", Cluster: "c", WorkloadCluster: true}, ""},
		"no pools":                                             {nil, ippools.Requirement{}, ""},
	})
}

func TestAdmits(t *testing.T) {
	t.Parallel()
	lb := func(namespace, project, cluster string) *lbv1.LoadBalancer {
		return &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{
			lbv1.ProjectAnnotation: project, lbv1.ClusterAnnotation: cluster,
		}}}
	}
	scoped := func(project, namespace, cluster string) lbv1.IPPool {
		return selecting("a", "default/vlan1", 0, lbv1.Tuple{Project: project, Namespace: namespace, GuestCluster: cluster})
	}
	for name, tc := range map[string]struct {
		pool lbv1.IPPool
		lb   *lbv1.LoadBalancer
		want bool
	}{
		"without a scope":                     {selecting("a", "", 0), lb("n", "", ""), true},
		"global":                              {selecting("a", "", 0, all), lb("n", "", ""), true},
		"its namespace, whatever the network": {scoped("", "n", ""), lb("n", "c/p", "c"), true},
		"another namespace":                   {scoped("*", "other", "*"), lb("n", "", ""), false},
		"no namespace":                        {scoped("*", "", "*"), lb("n", "", ""), false},
		"its project as Rancher writes it":    {scoped("c:p", "*", "*"), lb("n", "c/p", ""), true},
		"another project":                     {scoped("c:q", "*", "*"), lb("n", "c/p", ""), false},
		"a project for who is in none":        {scoped("c:q", "*", "*"), lb("n", "", ""), false},
		"another guest cluster":               {scoped("*", "*", "two"), lb("n", "", "one"), false},
		"a client that claims to be all":      {scoped("c:q", "other", "two"), lb("n", "*", "*"), false},
		"a guest cluster that claims all":     {scoped("*", "n", "two"), lb("n", "", "*"), false},
		"the second of its scopes":            {selecting("a", "", 0, lbv1.Tuple{Namespace: "other"}, lbv1.Tuple{Namespace: "n"}), lb("n", "", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(ippools.Admits(&tc.pool, tc.lb)).To(Equal(tc.want))
		})
	}
}

func TestSelectByVLANLabel(t *testing.T) {
	t.Parallel()
	expectChosen(t, map[string]choice{
		"one of the network's VLAN":                 {[]lbv1.IPPool{inVLAN("a", "200"), inVLAN("b", "100")}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Namespace: "default"}, "b"},
		"one of the network before one of its VLAN": {[]lbv1.IPPool{inVLAN("a", "100"), selecting("b", "default/vlan100", 0, inDefault)}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Namespace: "default"}, "b"},
		"one of the VLAN before the global one":     {[]lbv1.IPPool{inVLAN("b", "100"), selecting("a", "", 0, all)}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Namespace: "default"}, "b"},
		"one of the VLAN that leaves the project out before the global one, as in the proposal": {[]lbv1.IPPool{inVLAN("vlan100-pool", "100"), selecting("global", "", 0, all)}, ippools.Requirement{
			Network: "default/vlan100", VLAN: "100", Project: "local:p-hl965", Namespace: "default", Cluster: "c", WorkloadCluster: true,
		}, "vlan100-pool"},
		"one of the network that leaves the cluster out before the global one of the network": {[]lbv1.IPPool{
			selecting("a", "default/vlan100", 0, lbv1.Tuple{Project: "*", Namespace: "default"}), selecting("global", "default/vlan100", 0, all),
		}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Namespace: "default", Cluster: "c", WorkloadCluster: true}, "a"},
		"the global one before one of the VLAN in another namespace": {[]lbv1.IPPool{inVLAN("a", "100"), selecting("global", "", 0, all)}, ippools.Requirement{
			Network: "default/vlan100", VLAN: "100", Namespace: "other", Cluster: "c", WorkloadCluster: true,
		}, "global"},
		"one of another network in the VLAN":          {[]lbv1.IPPool{onNetwork(inVLAN("a", "100"), "other/vlan100")}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Namespace: "default"}, ""},
		"networks without a VLAN have none in common": {[]lbv1.IPPool{inVLAN("a", "0")}, ippools.Requirement{Network: "default/untagged", VLAN: "0", Namespace: "default"}, ""},
		"one of the VLAN that leaves the project out": {[]lbv1.IPPool{inVLAN("a", "100")}, ippools.Requirement{Network: "default/vlan100", VLAN: "100", Project: "p", Namespace: "default", Cluster: "c", WorkloadCluster: true}, "a"},
	})
}

// choice has the name of the expected pool, "" for none.
type choice struct {
	pools  []lbv1.IPPool
	want   ippools.Requirement
	chosen string
}

func expectChosen(t *testing.T, cases map[string]choice) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for range 2 { // in either order
				chosen, err := ippools.Select(tc.pools, tc.want)
				if tc.chosen == "" {
					g.Expect(chosen).To(BeNil())
					g.Expect(err).To(MatchError(ippools.ErrNoMatch))
					g.Expect(err).To(MatchError(HavePrefix("no matched IPPool with requirement")))
				} else {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(chosen.Name).To(Equal(tc.chosen))
				}
				slices.Reverse(tc.pools)
			}
		})
	}
}
