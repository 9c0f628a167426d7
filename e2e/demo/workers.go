// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// workersLevel waits until the workers are spread over the domains that receive machines, as evenly as can be, and checks at every
// look that no more than one of them is missing.
func (d *demo) workersLevel(ctx context.Context) error {
	said := ""
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := d.observe(ctx)
		if err != nil {
			return "", err
		}
		if said, err = d.tellWorkers(ctx, said); err != nil {
			return "", err
		}
		role := d.workerRole()
		if missing, err := moving(now, role, d.story.workers); missing != "" || err != nil {
			return missing, err
		}
		return level(now, role), nil
	})
	if err != nil {
		return err
	}
	return d.notePlaces(ctx)
}

// workerRole is the role of the machines of the MachineDeployment.
func (d *demo) workerRole() string { return strings.TrimPrefix(d.deployment, d.cluster.Name+"-") }

func (d *demo) tellWorkers(ctx context.Context, said string) (string, error) {
	infra, _, err := d.infrastructureCluster(ctx)
	if err != nil {
		return said, err
	}
	return d.tell(said, conditionText(infra, faultlinev1.WorkersBalancedCondition)), nil
}

// moving checks that workers are moved one at a time, and says what is missing for all of them to be ready.
func moving(now Snapshot, role string, wanted int) (missing string, err error) {
	ready, going := 0, 0
	for _, m := range now.in(role, "") {
		switch {
		case m.Deleting:
			going++
		case m.Ready:
			ready++
		}
	}
	if going > 1 {
		return "", &provider.Violation{Rule: fmt.Sprintf("%d machines of %s are being deleted at once", going, role)}
	}
	if ready != wanted || going > 0 {
		return fmt.Sprintf("%d of %d machines of %s are ready", ready, wanted, role), nil
	}
	return "", nil
}

// logical asks for a number of logical failure domains, and waits until the workers are spread over them as evenly as can be.
func (d *demo) logical(number int) func(context.Context) error {
	return func(ctx context.Context) error {
		before, err := d.keys(ctx)
		if err != nil {
			return err
		}
		if err := d.want(ctx, map[string]any{"distribution": map[string]any{"workers": map[string]any{"desiredFailureDomains": number}}}); err != nil {
			return err
		}
		said, keys := "", map[string]string{}
		err = provider.Until(ctx, func(ctx context.Context) (missing string, err error) {
			now, err := d.observe(ctx)
			if err != nil {
				return "", err
			}
			if said, err = d.tellWorkers(ctx, said); err != nil {
				return "", err
			}
			if keys, err = d.keys(ctx); err != nil {
				return "", err
			}
			if missing, err := moving(now, d.workerRole(), d.story.workers); missing != "" || err != nil {
				return missing, err
			}
			return levelKeys(keys, d.deployment, number), nil
		})
		if err != nil {
			return err
		}
		d.noteKeys(before, keys)
		if wrong := tooManyReplaced(before, keys, d.deployment, number); wrong != "" {
			return errors.New(wrong)
		}
		return d.notePlaces(ctx)
	}
}

// keys are the logical failure domains of the workers, by machine.
func (d *demo) keys(ctx context.Context) (map[string]string, error) {
	var machines clusterv1.MachineList
	err := d.management.Client.List(ctx, &machines, client.InNamespace(d.cluster.Namespace),
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

// levelKeys says what is missing for machines to be spread evenly over the logical failure domains of a class.
func levelKeys(keys map[string]string, class string, number int) (missing string) {
	counts := map[string]int{}
	for i := range number {
		counts[fmt.Sprintf("%s-%d", class, i)] = 0
	}
	for machine, key := range keys {
		if _, wanted := counts[key]; !wanted {
			return fmt.Sprintf("machine %s is in logical failure domain %q, which is none of the %d of %s", machine, key, number, class)
		}
		counts[key]++
	}
	for key, n := range counts {
		if fewest, most := len(keys)/number, (len(keys)+number-1)/number; n < fewest || n > most {
			return fmt.Sprintf("logical failure domain %s has %d machines, not %d to %d", key, n, fewest, most)
		}
	}
	return ""
}

// noteKeys tells which machines are in which logical failure domain, and how many are new.
func (d *demo) noteKeys(before, now map[string]string) {
	members := map[string][]string{}
	for machine, key := range now {
		members[key] = append(members[key], machine)
	}
	var names []string
	for key := range members {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		slices.Sort(members[key])
		d.reporter.note(key + ": " + strings.Join(members[key], ", "))
	}
	d.reporter.note(fmt.Sprintf("%d machines were replaced", newMachines(before, now)))
}

// newMachines counts the machines that are new.
func newMachines(before, now map[string]string) int {
	fresh := 0
	for machine := range now {
		if _, known := before[machine]; !known {
			fresh++
		}
	}
	return fresh
}

// tooManyReplaced says whether other machines were replaced than the fewest that spread a class over so many logical failure domains: a machine
// keeps the one that it has. Of machines that had none nothing is said.
func tooManyReplaced(before, now map[string]string, class string, number int) string {
	counts, gone := map[string]int{}, 0
	for i := range number {
		counts[fmt.Sprintf("%s-%d", class, i)] = 0
	}
	for _, key := range before {
		switch _, stays := counts[key]; {
		case key == "":
			return ""
		case stays:
			counts[key]++
		default:
			gone++
		}
	}
	tooMany, missing := gone, 0
	for _, n := range counts {
		tooMany += max(0, n-(len(before)+number-1)/number)
		missing += max(0, len(before)/number-n)
	}
	if fewest, fresh := max(tooMany, missing), newMachines(before, now); fresh != fewest {
		return fmt.Sprintf("%d machines of %s were replaced, and %d would have done", fresh, class, fewest)
	}
	return ""
}
