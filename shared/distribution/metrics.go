// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Metrics exports the failure domains of clusters as Prometheus metrics:
//
//	faultline_failure_domain_state{namespace,cluster,domain,state}    1 for the state the domain is in, 0 for the others
//	faultline_failure_domain_machines{namespace,cluster,domain,role}  role is control-plane or worker
//	faultline_failure_domain_skew{namespace,cluster}                  absent while no domain takes control-plane machines
//	faultline_failure_domain_worker_skew{namespace,cluster,machine_deployment} absent where another program chooses the machines
//	faultline_failure_domain_waiting_machines{namespace,cluster,reason}
//	faultline_failure_domain_misplaced_machines{namespace,cluster}    machines in another domain than requested
//	faultline_failure_domain_moves_total{namespace,cluster,role,outcome} a counter from 0; outcome is Completed or Aborted
//
// A scrape returns a consistent state of each cluster from one call of Set; series that no longer apply are removed. Metrics is
// safe for concurrent use.
type Metrics struct {
	state, machines, skew, workerSkew, waiting, misplaced, moves *prometheus.Desc

	mu       sync.Mutex
	clusters map[types.NamespacedName]snapshot
}

// snapshot holds the exported state of one cluster.
type snapshot struct {
	status  faultlinev1.DistributionStatus
	counts  map[string]faultlinev1.MachineCounts
	waiting map[string]int
	// workers maps each MachineDeployment to its skew.
	workers map[string]int
	// elsewhere is the number of machines in another domain than requested.
	elsewhere int
	moves     map[moved]int
}

// moved holds the labels of the moves counter.
type moved struct{ role, outcome string }

// NewMetrics returns Metrics registered with registerer.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("faultline_failure_domain_"+name, help, append([]string{"namespace", "cluster"}, labels...), nil)
	}
	m := &Metrics{
		state:    desc("state", "State of a failure domain: 1 for the current state, 0 for the others.", "domain", "state"),
		machines: desc("machines", "Machines in a failure domain.", "domain", "role"),
		skew:     desc("skew", "Difference between the highest and the lowest number of control-plane machines in the failure domains that receive them."),
		workerSkew: desc("worker_skew", "Difference between the highest and the lowest number of machines of a MachineDeployment in the failure domains that receive them.",
			"machine_deployment"),
		waiting:   desc("waiting_machines", "Machines that wait for their failure domain.", "reason"),
		misplaced: desc("misplaced_machines", "Machines in another failure domain than the requested one."),
		moves:     desc("moves_total", "Machines moved to another failure domain.", "role", "outcome"),
		clusters:  map[types.NamespacedName]snapshot{},
	}
	if err := registerer.Register(m); err != nil {
		return nil, fmt.Errorf("registering failure domain metrics: %w", err)
	}
	return m, nil
}

// Set replaces the exported domains and machines of a cluster. Machines in an undeclared domain, or in none, are counted under
// that name.
func (m *Metrics) Set(cluster types.NamespacedName, status faultlinev1.DistributionStatus, machines []Machine) {
	counts := CountByDomain(machines)
	for _, domain := range status.FailureDomains {
		if _, counted := counts[domain.Name]; !counted {
			counts[domain.Name] = faultlinev1.MachineCounts{}
		}
	}
	elsewhere := 0
	for _, machine := range machines {
		if machine.Elsewhere() {
			elsewhere++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.clusters[cluster]
	current.status, current.counts, current.elsewhere = *status.DeepCopy(), counts, elsewhere
	m.clusters[cluster] = current
}

// SetWaiting replaces the exported number of a cluster's waiting machines by reason.
func (m *Metrics) SetWaiting(cluster types.NamespacedName, byReason map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.clusters[cluster]
	current.waiting = maps.Clone(byReason)
	m.clusters[cluster] = current
}

// SetWorkers replaces the exported skew of a cluster's MachineDeployments by name.
func (m *Metrics) SetWorkers(cluster types.NamespacedName, skew map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.clusters[cluster]
	current.workers = maps.Clone(skew)
	m.clusters[cluster] = current
}

// Values of the role label.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
)

// CountMove counts a move that has ended. outcome is Completed or Aborted.
func (m *Metrics) CountMove(cluster types.NamespacedName, role, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.clusters[cluster]
	counted := maps.Clone(current.moves)
	if counted == nil {
		counted = map[moved]int{}
	}
	counted[moved{role, outcome}]++
	current.moves = counted
	m.clusters[cluster] = current
}

// Forget removes the series of a cluster.
func (m *Metrics) Forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, cluster)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.state, m.machines, m.skew, m.workerSkew, m.waiting, m.misplaced, m.moves} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	// Metrics are sent after the lock is released, because the receiver may be slow.
	for _, metric := range m.gather() {
		metrics <- metric
	}
}

func (m *Metrics) gather() []prometheus.Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []prometheus.Metric
	for cluster, current := range m.clusters {
		all = append(all, m.gatherCluster(cluster, current)...)
	}
	return all
}

func (m *Metrics) gatherCluster(cluster types.NamespacedName, current snapshot) []prometheus.Metric {
	var all []prometheus.Metric
	export := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		metric, err := prometheus.NewConstMetric(desc, kind, value,
			append([]string{cluster.Namespace, cluster.Name}, labels...)...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(desc, err)
		}
		all = append(all, metric)
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		export(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, domain := range current.status.FailureDomains {
		for _, state := range []faultlinev1.DomainState{faultlinev1.DomainActive, faultlinev1.DomainCordoned, faultlinev1.DomainEvicting} {
			gauge(m.state, one(state == domain.State), domain.Name, string(state))
		}
	}
	for domain, count := range current.counts {
		gauge(m.machines, float64(count.ControlPlane), domain, RoleControlPlane)
		gauge(m.machines, float64(count.Workers), domain, RoleWorker)
	}
	if len(current.counts) > 0 {
		gauge(m.misplaced, float64(current.elsewhere))
	}
	if skew := current.status.ControlPlaneSkew; skew != nil {
		gauge(m.skew, float64(*skew))
	}
	for deployment, skew := range current.workers {
		gauge(m.workerSkew, float64(skew), deployment)
	}
	for reason, count := range current.waiting {
		gauge(m.waiting, float64(count), reason)
	}
	for _, of := range moves() {
		// Prometheus does not see an increase in a counter that starts at 1, so a 0 is exported first.
		if count := current.moves[of]; count > 0 || len(current.status.FailureDomains) > 0 {
			export(m.moves, prometheus.CounterValue, float64(count), of.role, of.outcome)
		}
	}
	return all
}

// one returns 1 for true and 0 for false.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// moves lists all label combinations of the moves counter.
func moves() []moved {
	var all []moved
	for _, role := range []string{RoleControlPlane, RoleWorker} {
		for _, outcome := range []faultlinev1.MovePhase{faultlinev1.MoveCompleted, faultlinev1.MoveAborted} {
			all = append(all, moved{role, string(outcome)})
		}
	}
	return all
}
