// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// deployment is the name of the MachineDeployment.
const deployment = "workers"

// Workers is what it took to make the machines of one MachineDeployment at once.
type Workers struct {
	Machines int `json:"machines"`
	Hosts    int `json:"hosts"`
	// Created is after how many seconds the last machine was created.
	Created float64 `json:"createdSeconds"`
	// Assigned is after how many seconds the last machine was assigned a failure domain, 0 where Machines name theirs.
	Assigned float64 `json:"assignedSeconds"`
	// Associated is after how many seconds the last machine had its host, and Cost what it took until then.
	Associated float64        `json:"associatedSeconds"`
	Cost       benchmark.Cost `json:"cost"`
	// Peak is the highest of the manager's memory, in bytes.
	Peak int64 `json:"peakBytes"`
}

// WorkerResults are the same workers, once spread and once with Machines that name their failure domains.
type WorkerResults struct {
	Spread Workers `json:"spread"`
	Named  Workers `json:"named"`
}

// measureWorkers makes so many workers in each of the two ways, with some more hosts in each failure domain than they need.
func measureWorkers(ctx context.Context, b *benchmark.Runner, machines int) (*WorkerResults, error) {
	of := Workers{Machines: machines, Hosts: machines + rackCount*(machines/(5*rackCount)+1)}
	r := &WorkerResults{Spread: of, Named: of}
	for _, into := range []*Workers{&r.Named, &r.Spread} {
		name, spread := "named", into == &r.Spread
		if spread {
			name = "spread"
		}
		err := b.Scenario(ctx, fmt.Sprintf("workers-%d-%s", machines, name), nil, func(ctx context.Context, l *benchmark.Environment) error {
			return scenario{l}.workers(ctx, into, spread)
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (l scenario) workers(ctx context.Context, into *Workers, spread bool) error {
	y, err := l.setUp(ctx, "bench", into.Hosts)
	if err != nil {
		return err
	}
	if err := y.deploy(ctx, into.Machines, spread); err != nil {
		return err
	}
	all, err := y.prepareWorkers(ctx, into.Machines, spread)
	if err != nil {
		return err
	}
	if err := l.Rest(ctx, y); err != nil {
		return err
	}
	into.Cost, err = l.During(ctx, y, func() error {
		if err := y.makeWorkers(ctx, into, all, spread); err != nil {
			return err
		}
		l.Progressf("%d workers have hosts after %.1f s", into.Machines, into.Associated)
		return l.Rest(ctx, y)
	})
	if err != nil {
		return err
	}
	if _, into.Peak, err = l.Memory(); err != nil {
		return err
	}
	return y.checkSpread(ctx, into.Machines)
}

// deploy makes the MachineDeployment, and has the cluster spread it or not.
func (y *benchSetup) deploy(ctx context.Context, replicas int, spread bool) error {
	md := &clusterv1.MachineDeployment{ObjectMeta: y.cluster.Meta(deployment), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: y.name, Replicas: new(int32(replicas)), //nolint:gosec // It is a number of machines.
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}},
	}}
	md.OwnerReferences = []metav1.OwnerReference{y.cluster.Owner}
	template, _ := y.cluster.Machine("template", "")
	md.Spec.Template.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}
	md.Spec.Template.Spec = template.Spec
	if err := provider.Create(ctx, y.in.Client, md); err != nil {
		return err
	}
	infra := &infrav1.Metal3Cluster{ObjectMeta: y.cluster.Meta(y.name)}
	body := fmt.Sprintf(`{"spec":{"distribution":{"workers":{"enabled":%t}}}}`, spread)
	return y.in.Client.Patch(ctx, infra, client.RawPatch(mergePatch, []byte(body)))
}

// prepareWorkers makes the Machines of the MachineDeployment with their bootstrap data, and returns their Metal3Machines, which are
// still to be created. Machines that are not to be spread name their failure domains.
func (y *benchSetup) prepareWorkers(ctx context.Context, n int, spread bool) ([]*infrav1.Metal3Machine, error) {
	made := make([]*infrav1.Metal3Machine, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range made {
		rack := y.racks.Domains[i%rackCount].Name
		if spread {
			rack = ""
		}
		group.Go(func() (err error) {
			made[i], err = y.prepareWorker(ctx, fmt.Sprintf("%s-%04d", y.name, i), rack)
			return err
		})
	}
	return made, group.Wait()
}

func (y *benchSetup) prepareWorker(ctx context.Context, name, rack string) (*infrav1.Metal3Machine, error) {
	machine, data := y.cluster.Machine(name, rack)
	machine.Labels[clusterv1.MachineDeploymentNameLabel] = deployment
	if err := provider.Create(ctx, y.in.Client, data, machine); err != nil {
		return nil, err
	}
	infra := newMachine(y.cluster.Meta(name))
	infra.Labels[clusterv1.MachineDeploymentNameLabel] = deployment
	infra.OwnerReferences = []metav1.OwnerReference{ownedBy(machine)}
	return infra, nil
}

// makeWorkers creates the Metal3Machines and waits until each has its host, and its failure domain before if it is to be assigned one.
func (y *benchSetup) makeWorkers(ctx context.Context, into *Workers, all []*infrav1.Metal3Machine, spread bool) error {
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	seen := func(done func(*infrav1.Metal3Machine) bool, after *float64) {
		group.Go(func() error {
			_, err := y.await(groupCtx, all, done)
			*after = time.Since(began).Seconds()
			return err
		})
	}
	seen(associated, &into.Associated)
	if spread {
		seen(assigned, &into.Assigned)
	}
	group.Go(func() error {
		making, makingCtx := errgroup.WithContext(groupCtx)
		making.SetLimit(provider.CreateAtOnce)
		for _, machine := range all {
			making.Go(func() error { return provider.Create(makingCtx, y.in.Client, machine) })
		}
		err := making.Wait()
		into.Created = time.Since(began).Seconds()
		return err
	})
	return group.Wait()
}

func assigned(machine *infrav1.Metal3Machine) bool {
	return machine.Annotations[faultlinev1.AssignedFailureDomainAnnotation] != ""
}

// ownedBy is the reference that an infrastructure machine has to its Machine.
func ownedBy(machine *clusterv1.Machine) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID, Controller: new(true)}
}

// checkSpread makes sure that the workers' hosts are spread evenly.
func (y *benchSetup) checkSpread(ctx context.Context, machines int) error {
	placements, err := simulator.Placements(ctx, y.in.Client, y.name)
	if err != nil {
		return err
	}
	in := map[string]int{}
	for _, p := range placements {
		if p.Consumer != "" {
			in[p.Domain]++
		}
	}
	counts := slices.Sorted(maps.Values(in))
	if len(counts) != min(rackCount, machines) || counts[len(counts)-1]-counts[0] > 1 {
		return fmt.Errorf("checking placement: %d workers are spread as %v", machines, in)
	}
	return nil
}
