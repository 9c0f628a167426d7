// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	benchmark.Batch

	hosts int
	// assigned is the number of seconds until the last machine was assigned a failure domain; 0 if Machines name theirs.
	assigned float64
}

// measureWorkers creates the workers twice, once with Machines that name their failure domains and once spread, with slightly more hosts
// in each failure domain than needed.
func measureWorkers(machines int) []benchmark.Scenario {
	of := workers{Batch: benchmark.Batch{Machines: machines}, hosts: machines + rackCount*(machines/(5*rackCount)+1)}
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
				e.Detail("workers that are spread", machines, spread.Cost)
				e.Detail("workers that are not spread", machines, named.Cost)
				return err
			},
		},
	}
}

func workerRows(spread, named workers) []benchmark.Row {
	requests, without := spread.Per(spread.Work()), named.Per(named.Work())
	assigned := benchmark.Figure("seconds until all are assigned a failure domain", "%.1f", spread.assigned)
	if spread.Machines <= aimWorkers {
		assigned = assigned.Below(aimSpread)
	}
	return []benchmark.Row{
		assigned,
		both("seconds until all have a host", "%.1f", spread.Seconds, named.Seconds),
		both("Kubernetes requests a machine until it has its host", "%.2f", requests, without),
		benchmark.Figure("of these for being spread", "%.2f", requests-without).AtMost(aimSpreadRequests),
		both("CPU-seconds of the manager until all have a host", "%.1f", spread.CPU, named.CPU),
	}
}

func (w *workers) measure(ctx context.Context, e *benchmark.Environment, spread bool) error {
	f, err := setUp(ctx, e, w.hosts)
	if err != nil {
		return err
	}
	if err := deploy(ctx, f, w.Machines, spread); err != nil {
		return err
	}
	last, seen := time.Time{}, map[string]bool{}
	f.Done = func(m *infrav1.Metal3Machine) bool {
		if m.Annotations[faultlinev1.AssignedFailureDomainAnnotation] != "" && !seen[m.Name] {
			last, seen[m.Name] = time.Now(), true
		}
		return associated(m)
	}
	if w.Batch, err = e.Batch(ctx, f, w.Machines); err != nil || !spread {
		return err
	}
	w.assigned = last.Sub(w.Began).Seconds()
	return checkSpread(ctx, f)
}

// deploy creates the MachineDeployment, and enables or disables spreading. Machines that should be spread name no failure domain.
func deploy(ctx context.Context, f *fleet, replicas int, spread bool) error {
	md := &clusterv1.MachineDeployment{ObjectMeta: f.Cluster.Meta(deployment), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: f.Cluster.Name, Replicas: new(int32(replicas)), //nolint:gosec // A number of machines fits.
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}},
	}}
	md.OwnerReferences = []metav1.OwnerReference{f.Cluster.Owner}
	f.Cluster.Deployment = deployment
	if spread {
		f.Domains = []string{""}
	}
	template, _ := f.Cluster.Machine("template", "")
	md.Spec.Template.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: deployment}
	md.Spec.Template.Spec = template.Spec
	if err := provider.Create(ctx, f.Client, md); err != nil {
		return err
	}
	infra := &infrav1.Metal3Cluster{ObjectMeta: f.Cluster.Meta(f.Cluster.Name)}
	body := fmt.Sprintf(`{"spec":{"distribution":{"workers":{"enabled":%t}}}}`, spread)
	return f.Client.Patch(ctx, infra, client.RawPatch(mergePatch, []byte(body)))
}

// checkSpread verifies that the workers' hosts are spread evenly.
func checkSpread(ctx context.Context, f *fleet) error {
	placements, err := f.Placements(ctx)
	if err != nil {
		return err
	}
	in := map[string]int{}
	for _, p := range placements {
		in[p.Domain]++
	}
	counts := slices.Sorted(maps.Values(in))
	if len(counts) != min(rackCount, len(placements)) || counts[len(counts)-1]-counts[0] > 1 {
		return fmt.Errorf("checking placement: %d workers are spread as %v", len(placements), in)
	}
	return nil
}
