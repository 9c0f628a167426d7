// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/binaries"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// rackCount is the number of failure domains in a setup.
	rackCount = 5

	// Targets with default flags.
	aimHostRequests = 6   // Kubernetes requests per machine, without events, leases and watches
	aimMemory       = 100 // MiB of the manager
)

// upstream holds the numbers of CAPM3, measured with as many hosts as machines, and the target.
type upstream struct {
	seconds, memory, cpu string
	aim                  float64 // seconds until all have their hosts
}

func upstreams() map[int]upstream {
	return map[int]upstream{200: {seconds: "31-39, tuned 23.5", aim: 5}, 1000: {seconds: "627, tuned 320", memory: "155", cpu: "180", aim: 30}}
}

// Benchmark implements benchmark.Provider.
func (Provider) Benchmark() benchmark.Suite {
	return benchmark.Suite{Machines: []int{200, 1000}, Measure: measure, Scale: measureScale}
}

// measure creates batches on as many hosts as machines, and the smallest again on twice the hosts.
func measure(machines []int, _ string) benchmark.Plan {
	var scenarios []benchmark.Scenario
	batch := func(machines, hosts int) {
		scenarios = append(scenarios, benchmark.Scenario{
			Name:  fmt.Sprintf("hosts-%d-machines-%d", hosts, machines),
			Title: fmt.Sprintf("%d machines on %d hosts in %d failure domains", machines, hosts, rackCount),
			Run:   func(ctx context.Context, e *benchmark.Environment) error { return makeBatch(ctx, e, machines, hosts) },
		})
	}
	for _, n := range machines {
		batch(n, n)
	}
	batch(slices.Min(machines), 2*slices.Min(machines))
	return benchmark.Plan{
		Ours: "Faultline", Upstream: "CAPM3 v1.13.1", Scenarios: scenarios,
		Notes: `Hosts and Machines exist, and are in the manager's cache, before the first machine is created. A machine has its host when
its status names it; the write of the host's spec is included. Then the hosts provision immediately. Requests are those in the API
server's audit log with the manager's user agent; events, leases and watches are counted separately. Without workload clusters, nothing
waits for Nodes.
`,
	}
}

// batch holds the cost of creating machines at once: until each had its host, and then, with hosts without delays, until the last was
// provisioned.
type batch struct {
	machines, hosts      int
	each                 []float64 // the seconds from a machine's creation to its host, sorted
	associated           float64   // seconds until the last had its host
	association          benchmark.Cost
	provisioned          float64 // additional seconds
	provisioning         benchmark.Cost
	memory, serverMemory int64 // highest values in bytes
}

func makeBatch(ctx context.Context, e *benchmark.Environment, machines, hosts int) error {
	y, err := setUp(ctx, e, "bench", hosts)
	if err != nil {
		return err
	}
	all, err := y.Machines(ctx, machines)
	if err != nil {
		return err
	}
	if err := e.Rest(ctx, y); err != nil {
		return err
	}
	b := batch{machines: machines, hosts: hosts}
	b.association, err = e.During(ctx, y, func() (err error) {
		began := time.Now()
		if b.each, err = y.Create(ctx, all, associated); err != nil {
			return err
		}
		b.associated = time.Since(began).Seconds()
		e.Progressf("%d machines have hosts after %.1f s", machines, b.associated)
		return e.Rest(ctx, y)
	})
	if err != nil {
		return err
	}
	b.provisioning, err = e.During(ctx, y, func() error {
		began := time.Now()
		y.work(ctx)
		if _, err := y.Await(ctx, all, y.Provisioned); err != nil {
			return err
		}
		b.provisioned = time.Since(began).Seconds()
		return e.Rest(ctx, y)
	})
	if err != nil {
		return err
	}
	server, err := e.Process(binaries.APIServer)
	if err != nil {
		return err
	}
	b.serverMemory = server.Peak
	_, b.memory, err = e.Memory()
	e.Add(b.rows()...)
	e.Detail(fmt.Sprintf("%d machines on %d hosts until they have hosts", machines, hosts), machines, b.association)
	e.Detail(fmt.Sprintf("%d machines on %d hosts until they are provisioned", machines, hosts), machines, b.association.Plus(b.provisioning))
	return err
}

func (b batch) rows() []benchmark.Row {
	var theirs upstream
	if b.hosts == b.machines {
		theirs = upstreams()[b.machines]
	}
	per := func(name string, count int) benchmark.Row {
		return benchmark.Figure(name, "%.1f", float64(count)/float64(b.machines))
	}
	whole := b.association.Plus(b.provisioning)
	last := benchmark.Figure("seconds until all have a host", "%.1f", b.associated).WithUpstream(theirs.seconds)
	if aim := upstreams()[b.machines].aim; aim > 0 {
		last = last.Below(aim)
	}
	return []benchmark.Row{
		last,
		benchmark.Figure("seconds from a machine's creation to its host, median", "%.2f", benchmark.Percentile(b.each, 50)),
		benchmark.Figure("the same, 99th percentile", "%.2f", benchmark.Percentile(b.each, 99)),
		per("Kubernetes requests a machine until it has its host", b.association.Work()).WithUpstream("8-18").AtMost(aimHostRequests),
		benchmark.Figure("lists of hosts in all", "%.0f", float64(b.association.Requests["list baremetalhosts"])).
			WithUpstream(fmt.Sprint(b.machines)).Zero(),
		per("Kubernetes requests a machine until it is provisioned", whole.Work()),
		per("events, leases and watches a machine", whole.Requests.Sum(benchmark.IsApart)),
		benchmark.Figure("CPU-seconds of the manager until all have a host", "%.1f", b.association.CPU).WithUpstream(theirs.cpu),
		benchmark.Figure("CPU-seconds of the API server until all have a host", "%.1f", b.association.ServerCPU),
		benchmark.Figure("seconds more until all are provisioned", "%.1f", b.provisioned),
		benchmark.Figure("CPU-seconds of the manager in all", "%.1f", whole.CPU),
		benchmark.Figure("MiB of the manager at its peak", "%.0f", mib(b.memory)).WithUpstream(theirs.memory).Below(aimMemory),
		benchmark.Figure("MiB of the API server at its peak", "%.0f", mib(b.serverMemory)),
	}
}

func mib(bytes int64) float64 { return float64(bytes) / benchmark.Mebibyte }

// benchSetup is a number of hosts in racks and a cluster on them, in its own namespace. Its hosts do nothing before work is called.
type benchSetup struct {
	noCalls
	*benchmark.Fleet[*infrav1.Metal3Machine]

	in   *benchmark.Environment
	name string // of the namespace and of the cluster
}

// setUp creates available hosts and a cluster without machines.
func setUp(ctx context.Context, e *benchmark.Environment, name string, hosts int) (*benchSetup, error) {
	racks := simulator.Racks(rackCount, hosts/rackCount)
	for i := range hosts % rackCount {
		racks.Domains[i].Hosts++
	}
	racks.Ready = true
	cluster, err := createCluster(ctx, e.Client, name, racks)
	y := &benchSetup{in: e, name: name, Fleet: &benchmark.Fleet[*infrav1.Metal3Machine]{
		Client: e.Client, Cluster: cluster, New: newMachine, List: &infrav1.Metal3MachineList{},
		Provisioned: func(m *infrav1.Metal3Machine) bool { return ptr.Deref(m.Status.Initialization.Provisioned, false) },
	}}
	y.Check = y.checkPlaces
	for _, rack := range racks.Domains {
		y.Domains = append(y.Domains, rack.Name)
	}
	return y, err
}

// noCalls counts no calls, because hosts are objects of the Kubernetes API.
type noCalls struct{}

// Calls implements benchmark.Counted.
func (noCalls) Calls() benchmark.Counts { return nil }

// IsWork implements benchmark.Counted.
func (noCalls) IsWork(string) bool { return true }

func associated(machine *infrav1.Metal3Machine) bool {
	return conditions.IsTrue(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)
}

// checkPlaces verifies that each machine has one host in its rack.
func (y *benchSetup) checkPlaces(ctx context.Context, domains map[string]string) error {
	placements, err := simulator.Placements(ctx, y.Client, y.name)
	if err != nil {
		return err
	}
	racksOf := map[string][]string{}
	for _, p := range placements {
		if p.Consumer != "" {
			racksOf[p.Consumer] = append(racksOf[p.Consumer], p.Domain)
		}
	}
	for name, want := range domains {
		if !slices.Equal(racksOf[name], []string{want}) {
			return fmt.Errorf("checking placement: machine %s has hosts in %v, want one in %s", name, racksOf[name], want)
		}
	}
	return nil
}

// work makes the hosts carry out their work without delays until the scenario ends.
func (y *benchSetup) work(ctx context.Context) {
	operator := simulator.New(simulator.WithNamespace(y.name), simulator.WithoutEvents())
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := operator.Run(ctx, y.in.Management.RESTConfig); err != nil {
			y.in.Progressf("simulating hosts: %v", err)
		}
	}()
	y.in.OnStop(func() { stop(); <-ended })
}
