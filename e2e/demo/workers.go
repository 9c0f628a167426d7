// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// workersLevel waits until the workers are spread evenly over the domains that receive machines, and verifies each time that at most one
// of them is missing.
func (d *demo) workersLevel(ctx context.Context) error {
	err := d.untilBalanced(ctx, faultlinev1.WorkersBalancedCondition, func(_ context.Context, now snapshot.Snapshot) (string, error) {
		if missing, err := snapshot.Moving(now, d.workerRole(), d.scenario.workers); missing != "" || err != nil {
			return missing, err
		}
		return snapshot.Level(now, d.workerRole()), nil
	})
	if err != nil {
		return err
	}
	return d.printPlacement(ctx)
}

// workerRole returns the role of the machines of the MachineDeployment.
func (d *demo) workerRole() string { return strings.TrimPrefix(d.deployment, d.cluster.Name+"-") }

// logical sets the number of logical failure domains, and waits until the workers are spread evenly over them.
func (d *demo) logical(number int) func(context.Context) error {
	return func(ctx context.Context) error {
		before, err := d.keys(ctx)
		if err != nil {
			return err
		}
		if err := d.want(ctx, map[string]any{"distribution": map[string]any{"workers": map[string]any{"desiredFailureDomains": number}}}); err != nil {
			return err
		}
		var keys map[string]string
		err = d.untilBalanced(ctx, faultlinev1.WorkersBalancedCondition, func(ctx context.Context, now snapshot.Snapshot) (missing string, err error) {
			if keys, err = d.keys(ctx); err != nil {
				return "", err
			}
			if missing, err := snapshot.Moving(now, d.workerRole(), d.scenario.workers); missing != "" || err != nil {
				return missing, err
			}
			return snapshot.LevelKeys(keys, d.deployment, number), nil
		})
		if err != nil {
			return err
		}
		d.noteKeys(before, keys)
		if wrong := snapshot.TooManyReplaced(before, keys, d.deployment, number); wrong != "" {
			return errors.New(wrong)
		}
		return d.printPlacement(ctx)
	}
}

// keys returns the logical failure domain of each worker.
func (d *demo) keys(ctx context.Context) (map[string]string, error) {
	var machines clusterv1.MachineList
	err := d.Management.Client.List(ctx, &machines, client.InNamespace(d.cluster.Namespace),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: d.deployment})
	if err != nil {
		return nil, fmt.Errorf("listing the machines of MachineDeployment %s: %w", d.deployment, err)
	}
	keys := map[string]string{}
	for i := range machines.Items {
		keys[machines.Items[i].Name] = machines.Items[i].Labels[faultlinev1.DistributionKeyLabel]
	}
	return keys, nil
}

// noteKeys prints the machines of each logical failure domain, and the number of new machines.
func (d *demo) noteKeys(before, now map[string]string) {
	members := map[string][]string{}
	for machine, key := range now {
		members[key] = append(members[key], machine)
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		slices.Sort(members[key])
		d.reporter.note(key + ": " + strings.Join(members[key], ", "))
	}
	d.reporter.note(fmt.Sprintf("%d machines were replaced", snapshot.NewMachines(before, now)))
}
