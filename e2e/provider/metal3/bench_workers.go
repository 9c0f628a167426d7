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
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// deployment is the name of the MachineDeployment.
const deployment = "workers"

// workers holds the cost of creating the machines of one MachineDeployment at once.
type workers struct {
	machines, hosts int
	// assigned and associated are the seconds until the last machine was assigned a failure domain (0 if Machines name theirs), and had
	// its host.
	assigned, associated float64
	// cost is the cost until then.
	cost benchmark.Cost
}

// measureWorkers creates the workers twice, once with Machines that name their failure domains and once spread, with slightly more hosts
// in each failure domain than needed.
func measureWorkers(machines int) []benchmark.Scenario {
	of := workers{machines: machines, hosts: machines + rackCount*(machines/(5*rackCount)+1)}
	named, spread := of, of
	return []benchmark.Scenario{
		{
			Name: fmt.Sprintf("workers-%d-named", machines),
			Run:  func(ctx context.Context, e *benchmark.Environment) error { return named.measure(ctx, e, false) },
		},
		{
			Name:  fmt.Sprintf("workers-%d-spread", machines),
			Title: fmt.Sprintf("%d workers of one MachineDeployment on %d hosts in %d failure domains", machines, of.hosts, rackCount),
			Run: func(ctx context.Context, e *benchmark.Environment) error {
				err := spread.measure(ctx, e, true)
				e.Add(workerRows(spread, named)...)
				e.Detail("workers that are spread", machines, spread.cost)
				e.Detail("workers that are not spread", machines, named.cost)
				return err
			},
		},
	}
}

func workerRows(spread, named workers) []benchmark.Row {
	per := func(w workers) float64 { return float64(w.cost.Work()) / float64(w.machines) }
	assigned := benchmark.Figure("seconds until all are assigned a failure domain", "%.1f", spread.assigned)
	if spread.machines <= aimWorkers {
		assigned = assigned.Below(aimSpread)
	}
	return []benchmark.Row{
		assigned,
		both("seconds until all have a host", "%.1f", spread.associated, named.associated),
		both("Kubernetes requests a machine until it has its host", "%.2f", per(spread), per(named)),
		benchmark.Figure("of these for being spread", "%.2f", per(spread)-per(named)).AtMost(aimSpreadRequests),
		both("CPU-seconds of the manager until all have a host", "%.1f", spread.cost.CPU, named.cost.CPU),
	}
}

func (w *workers) measure(ctx context.Context, e *benchmark.Environment, spread bool) error {
	y, err := setUp(ctx, e, w.hosts)
	if err != nil {
		return err
	}
	if err := y.deploy(ctx, w.machines, spread); err != nil {
		return err
	}
	all, err := y.Machines(ctx, w.machines)
	if err != nil {
		return err
	}
	if err := e.Rest(ctx, y); err != nil {
		return err
	}
	w.cost, err = e.During(ctx, y, func() error {
		if err := y.makeWorkers(ctx, w, all, spread); err != nil {
			return err
		}
		e.Progressf("%d workers have hosts after %.1f s", w.machines, w.associated)
		return e.Rest(ctx, y)
	})
	return err
}

// deploy creates the MachineDeployment, and enables or disables spreading. Machines that should be spread name no failure domain.
func (y *benchSetup) deploy(ctx context.Context, replicas int, spread bool) error {
	md := &clusterv1.MachineDeployment{ObjectMeta: y.Cluster.Meta(deployment), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: y.Cluster.Name, Replicas: new(int32(replicas)), //nolint:gosec // A number of machines fits.
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}},
	}}
	md.OwnerReferences = []metav1.OwnerReference{y.Cluster.Owner}
	y.Cluster.Deployment = deployment
	if spread {
		y.Domains, y.Check = []string{""}, y.checkSpread
	}
	template, _ := y.Cluster.Machine("template", "")
	md.Spec.Template.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}
	md.Spec.Template.Spec = template.Spec
	if err := provider.Create(ctx, y.Client, md); err != nil {
		return err
	}
	infra := &infrav1.Metal3Cluster{ObjectMeta: y.Cluster.Meta(y.Cluster.Name)}
	body := fmt.Sprintf(`{"spec":{"distribution":{"workers":{"enabled":%t}}}}`, spread)
	return y.Client.Patch(ctx, infra, client.RawPatch(mergePatch, []byte(body)))
}

// makeWorkers creates the Metal3Machines and waits until each has its host, and with spread also until each is assigned a failure domain.
func (y *benchSetup) makeWorkers(ctx context.Context, w *workers, all []*infrav1.Metal3Machine, spread bool) error {
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	if spread {
		group.Go(func() error {
			err := y.Await(groupCtx, all, assigned)
			w.assigned = time.Since(began).Seconds()
			return err
		})
	}
	group.Go(func() error {
		err := y.Create(groupCtx, all)
		w.associated = time.Since(began).Seconds()
		return err
	})
	return group.Wait()
}

func assigned(machine *infrav1.Metal3Machine) bool {
	return machine.Annotations[faultlinev1.AssignedFailureDomainAnnotation] != ""
}

// checkSpread verifies that the workers' hosts are spread evenly.
func (y *benchSetup) checkSpread(ctx context.Context, machines map[string]string) error {
	racks, err := y.racksOf(ctx)
	if err != nil {
		return err
	}
	in := map[string]int{}
	for _, of := range racks {
		for _, rack := range of {
			in[rack]++
		}
	}
	counts := slices.Sorted(maps.Values(in))
	if len(counts) != min(rackCount, len(machines)) || counts[len(counts)-1]-counts[0] > 1 {
		return fmt.Errorf("checking placement: %d workers are spread as %v", len(machines), in)
	}
	return nil
}
