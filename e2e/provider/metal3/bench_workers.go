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
	of := Workers{Machines: machines, Hosts: machines + benchRacks*(machines/(5*benchRacks)+1)}
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
	if err := l.Rest(ctx, y); err != nil {
		return err
	}
	into.Cost, err = l.During(ctx, y, func() error {
		if err := y.makeWorkers(ctx, into, spread); err != nil {
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
func (y *metal3Setup) deploy(ctx context.Context, replicas int, spread bool) error {
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

// makeWorkers creates Machines and Metal3Machines and waits until each has its failure domain and its host.
func (y *metal3Setup) makeWorkers(ctx context.Context, into *Workers, spread bool) error {
	names, racks := make([]string, into.Machines), make([]string, into.Machines)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", y.name, i)
		if !spread {
			racks[i] = y.racks.Domains[i%benchRacks].Name
		}
	}
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	if spread {
		group.SetLimit(provider.CreateAtOnce + 1)
		group.Go(func() error {
			err := benchmark.Await(groupCtx, y.in.Client, &infrav1.Metal3MachineList{}, y.name, benchmark.NewWaiting(names, assigned))
			into.Assigned = time.Since(began).Seconds()
			return err
		})
	}
	for i := range names {
		group.Go(func() error { return y.makeWorker(groupCtx, names[i], racks[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	err := benchmark.Await(ctx, y.in.Client, &infrav1.Metal3MachineList{}, y.name, benchmark.NewWaiting(names, associated))
	into.Associated = time.Since(began).Seconds()
	return err
}

func (y *metal3Setup) makeWorker(ctx context.Context, name, rack string) error {
	machine, data := y.cluster.Machine(name, rack)
	machine.Labels[clusterv1.MachineDeploymentNameLabel] = deployment
	if err := provider.Create(ctx, y.in.Client, data, machine); err != nil {
		return err
	}
	infra := Machine(y.cluster.Meta(name))
	infra.Labels[clusterv1.MachineDeploymentNameLabel] = deployment
	infra.OwnerReferences = []metav1.OwnerReference{ownedBy(machine)}
	return provider.Create(ctx, y.in.Client, infra)
}

func assigned(machine *infrav1.Metal3Machine) bool {
	return machine.Annotations[faultlinev1.AssignedFailureDomainAnnotation] != ""
}

// ownedBy is the reference that an infrastructure machine has to its Machine.
func ownedBy(machine *clusterv1.Machine) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID, Controller: new(true)}
}

// checkSpread makes sure that the workers' hosts are spread evenly.
func (y *metal3Setup) checkSpread(ctx context.Context, machines int) error {
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
	if len(counts) != min(benchRacks, machines) || counts[len(counts)-1]-counts[0] > 1 {
		return fmt.Errorf("checking placement: %d workers are spread as %v", machines, in)
	}
	return nil
}
