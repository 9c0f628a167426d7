// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// gathered lists the series of a registry as name{label values} value.
func gathered(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var series []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			series = append(series, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), metric.GetGauge().GetValue()))
		}
	}
	slices.Sort(series)
	return series
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := distribution.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	cluster := types.NamespacedName{Namespace: "ns", Name: "c1"}
	all := machines("a*", "a", "gone")
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("b", "Evicting")
	metrics.Set(cluster, l.at(0, good("a"), good("b")).Status(faultlinev1.DistributionStatus{}, all, start()), all)
	metrics.SetWaiting(cluster, map[string]int{"NoCapacity": 2})
	metrics.SetWorkers(cluster, map[string]int{"md-0": 2})
	compare(t, gathered(t, registry), []string{
		"faultline_failure_domain_machines{cluster=c1,domain=a,namespace=ns,role=control-plane} 1",
		"faultline_failure_domain_machines{cluster=c1,domain=a,namespace=ns,role=worker} 1",
		"faultline_failure_domain_machines{cluster=c1,domain=b,namespace=ns,role=control-plane} 0",
		"faultline_failure_domain_machines{cluster=c1,domain=b,namespace=ns,role=worker} 0",
		"faultline_failure_domain_machines{cluster=c1,domain=gone,namespace=ns,role=control-plane} 0",
		"faultline_failure_domain_machines{cluster=c1,domain=gone,namespace=ns,role=worker} 1",
		"faultline_failure_domain_misplaced_machines{cluster=c1,namespace=ns} 0",
		"faultline_failure_domain_moves_total{cluster=c1,namespace=ns,outcome=Aborted,role=control-plane} 0",
		"faultline_failure_domain_moves_total{cluster=c1,namespace=ns,outcome=Aborted,role=worker} 0",
		"faultline_failure_domain_moves_total{cluster=c1,namespace=ns,outcome=Completed,role=control-plane} 0",
		"faultline_failure_domain_moves_total{cluster=c1,namespace=ns,outcome=Completed,role=worker} 0",
		"faultline_failure_domain_skew{cluster=c1,namespace=ns} 0",
		"faultline_failure_domain_state{cluster=c1,domain=a,namespace=ns,state=Active} 1",
		"faultline_failure_domain_state{cluster=c1,domain=a,namespace=ns,state=Cordoned} 0",
		"faultline_failure_domain_state{cluster=c1,domain=a,namespace=ns,state=Evicting} 0",
		"faultline_failure_domain_state{cluster=c1,domain=b,namespace=ns,state=Active} 0",
		"faultline_failure_domain_state{cluster=c1,domain=b,namespace=ns,state=Cordoned} 0",
		"faultline_failure_domain_state{cluster=c1,domain=b,namespace=ns,state=Evicting} 1",
		"faultline_failure_domain_waiting_machines{cluster=c1,namespace=ns,reason=NoCapacity} 2",
		"faultline_failure_domain_worker_skew{cluster=c1,machine_deployment=md-0,namespace=ns} 2",
	})

	// State that no longer exists is no longer exported: here the domains, the machines and the reason, later the cluster.
	other := types.NamespacedName{Namespace: "ns", Name: "c2"}
	metrics.Set(cluster, newTimeline(t).at(0).Status(faultlinev1.DistributionStatus{}, nil, start()), nil)
	metrics.SetWaiting(cluster, map[string]int{"FailureDomainNotReady": 1})
	metrics.SetWorkers(cluster, nil)
	metrics.SetWaiting(other, map[string]int{"NoCapacity": 1})
	compare(t, gathered(t, registry), []string{
		"faultline_failure_domain_waiting_machines{cluster=c1,namespace=ns,reason=FailureDomainNotReady} 1",
		"faultline_failure_domain_waiting_machines{cluster=c2,namespace=ns,reason=NoCapacity} 1",
	})
	metrics.Forget(cluster)
	compare(t, gathered(t, registry), []string{
		"faultline_failure_domain_waiting_machines{cluster=c2,namespace=ns,reason=NoCapacity} 1",
	})
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	if _, err := distribution.NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if _, err := distribution.NewMetrics(registry); err == nil {
		t.Error("no error for the second")
	}
}

func TestMovesAreCountedUntilTheClusterIsForgotten(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := distribution.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	cluster := types.NamespacedName{Namespace: "ns", Name: "c1"}
	metrics.CountMove(cluster, "control-plane", "Completed")
	metrics.CountMove(cluster, "control-plane", "Completed")
	metrics.SetWaiting(cluster, nil)
	const want = `
# HELP faultline_failure_domain_moves_total Machines moved to another failure domain.
# TYPE faultline_failure_domain_moves_total counter
faultline_failure_domain_moves_total{cluster="c1",namespace="ns",outcome="Completed",role="control-plane"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	metrics.Forget(cluster)
	if n, err := testutil.GatherAndCount(registry); n != 0 || err != nil {
		t.Errorf("%d series are left: %v", n, err)
	}
}
