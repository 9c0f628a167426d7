// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// rackCount is how many failure domains a setup has.
const rackCount = 5

// benchSetup is a number of hosts in racks and a cluster on them, in a namespace of its
// own. Its hosts do nothing before work is called.
type benchSetup struct {
	noCalls
	in      scenario
	name    string // of the namespace and of the cluster
	racks   simulator.Layout
	cluster *provider.Cluster
}

// setUp makes so many hosts, which are available, and a cluster without machines.
func (l scenario) setUp(ctx context.Context, name string, hosts int) (*benchSetup, error) {
	y := &benchSetup{in: l, name: name, racks: simulator.Racks(rackCount, hosts/rackCount)}
	for i := range hosts % rackCount {
		y.racks.Domains[i].Hosts++
	}
	y.racks.Ready = true
	var err error
	y.cluster, err = createCluster(ctx, l.Client, name, y.racks)
	return y, err
}

// noCalls is what the manager works with: hosts are objects of the Kubernetes API.
type noCalls struct{}

// Calls implements benchmark.Counted.
func (noCalls) Calls() benchmark.Counts { return nil }

// IsWork implements benchmark.Counted.
func (noCalls) IsWork(string) bool { return true }

// prepare makes n Machines with bootstrap data, spread over the racks, and answers
// their Metal3Machines, which are still to be created. There is no workload cluster:
// a Machine without a bootstrap configuration does not wait for its Node.
func (y *benchSetup) prepare(ctx context.Context, n int) ([]*infrav1.Metal3Machine, error) {
	made := make([]*infrav1.Metal3Machine, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range made {
		group.Go(func() (err error) {
			made[i], err = y.prepareOne(ctx, fmt.Sprintf("%s-%04d", y.name, i), y.racks.Domains[i%rackCount].Name)
			return err
		})
	}
	return made, group.Wait()
}

func (y *benchSetup) prepareOne(ctx context.Context, name, rack string) (*infrav1.Metal3Machine, error) {
	meta, err := y.cluster.CreateMachine(ctx, y.in.Client, name, rack)
	return newMachine(meta), err
}

// await answers how long it takes each machine from now until it is done.
func (y *benchSetup) await(ctx context.Context, all []*infrav1.Metal3Machine, done func(*infrav1.Metal3Machine) bool) (map[string]time.Time, error) {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.Name)
	}
	w := benchmark.NewWaiting(names, done)
	err := benchmark.Await(ctx, y.in.Client, &infrav1.Metal3MachineList{}, y.name, w)
	return w.Seen, err
}

func associated(machine *infrav1.Metal3Machine) bool {
	return conditions.IsTrue(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)
}

func provisioned(machine *infrav1.Metal3Machine) bool {
	done := machine.Status.Initialization.Provisioned
	return done != nil && *done
}

// associate creates the Metal3Machines and answers the seconds it took each of them
// from its creation to a host of its own.
func (y *benchSetup) associate(ctx context.Context, all []*infrav1.Metal3Machine) (took time.Duration, each []float64, err error) {
	began := time.Now()
	var seen map[string]time.Time
	created := make([]time.Time, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce + 1)
	group.Go(func() (err error) {
		seen, err = y.await(groupCtx, all, associated)
		return err
	})
	for i, machine := range all {
		group.Go(func() error {
			created[i] = time.Now()
			return y.in.Client.Create(groupCtx, machine)
		})
	}
	if err := group.Wait(); err != nil {
		return 0, nil, err
	}
	took = time.Since(began)
	for i, machine := range all {
		each = append(each, seen[machine.Name].Sub(created[i]).Seconds())
	}
	return took, each, y.check(ctx, all)
}

// check makes sure that each machine has one host, in its rack.
func (y *benchSetup) check(ctx context.Context, all []*infrav1.Metal3Machine) error {
	placements, err := simulator.Placements(ctx, y.in.Client, y.name)
	if err != nil {
		return err
	}
	racksOf := map[string][]string{}
	for _, p := range placements {
		if p.Consumer != "" {
			racksOf[p.Consumer] = append(racksOf[p.Consumer], p.Domain)
		}
	}
	for i, machine := range all {
		if want := y.racks.Domains[i%rackCount].Name; !slices.Equal(racksOf[machine.Name], []string{want}) {
			return fmt.Errorf("checking placement: machine %s has hosts in %v, not one in %s", machine.Name, racksOf[machine.Name], want)
		}
	}
	return nil
}

// work lets the hosts do what they are told, in no time, until the scenario ends.
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
