// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// StoryOutage is told when no other is chosen.
const StoryOutage = "outage"

// story is what happens to a cluster from when it is up until it is deleted.
type story struct {
	// workers are the machines of the MachineDeployments: one of each of those in the template, or so many of a single one that
	// names no failure domain.
	workers int
	// spreads has the provider choose the failure domains of the workers.
	spreads bool
	// withheld is the failure domain that the cluster does not have at first; "" when it has all.
	withheld func(domains []string) string
	// distribution is put into spec.distribution of the cluster.
	distribution map[string]any
	steps        func(*demo) []step
}

// stabilization is for how long the failure domains must have been as they are before a machine is moved: shorter than where a
// mistake costs something.
const stabilization = int64(3)

// surgeOne lets control planes rebalance.
func surgeOne() map[string]any {
	return map[string]any{"controlPlane": map[string]any{
		"rebalance": string(faultlinev1.ControlPlaneRebalanceSurgeOne), "stabilizationSeconds": stabilization,
	}}
}

func spreadWorkers(more map[string]any) map[string]any {
	workers := map[string]any{"enabled": true, "rebalance": string(faultlinev1.WorkersRebalanceDeleteOne)}
	maps.Copy(workers, more)
	return map[string]any{
		"workers":      workers,
		"controlPlane": map[string]any{"rebalance": string(faultlinev1.ControlPlaneRebalanceOff), "stabilizationSeconds": stabilization},
	}
}

func stories() map[string]story {
	return map[string]story{
		StoryOutage: {workers: 2, steps: outageSteps},
		"return":    {workers: 2, distribution: surgeOne(), steps: returnSteps},
		"add":       {workers: 2, distribution: surgeOne(), withheld: lastOf, steps: addSteps},
		"evict":     {workers: 2, distribution: surgeOne(), steps: evictSteps},
		"workers":   {workers: 6, spreads: true, distribution: spreadWorkers(nil), steps: workersSteps},
		"logical": {
			workers: 6, spreads: true, steps: logicalSteps,
			distribution: spreadWorkers(map[string]any{"desiredFailureDomains": int64(3)}),
		},
	}
}

func lastOf(domains []string) string { return domains[len(domains)-1] }

// Stories are the names of the stories that can be told.
func Stories() []string { return slices.Sorted(maps.Keys(stories())) }

// storyOf is the story of a name; it is an error that names the others if there is none.
func storyOf(name string) (story, error) {
	all := stories()
	if s, ok := all[cmp.Or(name, StoryOutage)]; ok {
		return s, nil
	}
	return story{}, fmt.Errorf("there is no story %q: it is one of %s", name, strings.Join(Stories(), ", "))
}

// check finds out whether the story can be told of a cluster of that flavor.
func (s story) check(name, flavor string) error {
	if name != "" && name != StoryOutage && flavor != "" {
		return errors.New("a story changes what the plain template has: choose a STORY or a FLAVOR, not both")
	}
	return nil
}

// prepare changes what the templates hold to what the story begins with.
func (d *demo) prepare(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	deployments := 0
	for _, object := range objects {
		switch {
		case object.GetKind() == d.about.ClusterKind:
			if err := d.prepareCluster(object); err != nil {
				return nil, fmt.Errorf("preparing %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		case object.GetKind() == "MachineDeployment" && d.story.spreads:
			if deployments++; deployments > 1 {
				continue
			}
			if err := d.prepareWorkers(object); err != nil {
				return nil, fmt.Errorf("preparing MachineDeployment %s: %w", object.GetName(), err)
			}
		case d.withheld != "" && object.GetName() == d.withheld && slices.Contains(d.about.Shared, object.GetKind()):
			d.later = append(d.later, object)
			continue
		}
		kept = append(kept, object)
	}
	return kept, nil
}

// prepareCluster sets spec.distribution, and takes the withheld domain away where the cluster itself lists its domains.
func (d *demo) prepareCluster(cluster *unstructured.Unstructured) error {
	for field, value := range d.story.distribution {
		if err := unstructured.SetNestedField(cluster.Object, value, "spec", "distribution", field); err != nil {
			return err
		}
	}
	listed, found, err := unstructured.NestedSlice(cluster.Object, "spec", "failureDomains")
	if err != nil || !found || d.withheld == "" {
		return err
	}
	d.listed = listed
	rest := slices.DeleteFunc(slices.Clone(listed), func(domain any) bool { return domain.(map[string]any)["name"] == d.withheld })
	return unstructured.SetNestedSlice(cluster.Object, rest, "spec", "failureDomains")
}

// prepareWorkers makes a MachineDeployment of all workers, which names no failure domain.
func (d *demo) prepareWorkers(deployment *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(deployment.Object, "spec", "template", "spec", "failureDomain")
	d.deployment = deployment.GetName()
	return unstructured.SetNestedField(deployment.Object, int64(d.story.workers), "spec", "replicas")
}

func outageSteps(d *demo) []step {
	return []step{
		{"A failure domain breaks", 2 * time.Minute, d.breakDomain},
		{"A control-plane machine in it is replaced elsewhere", 4 * time.Minute, d.replace},
		{"The failure domain is repaired", 2 * time.Minute, d.repairDomain},
	}
}

func returnSteps(d *demo) []step {
	steps := outageSteps(d)
	return slices.Concat(steps[:2], []step{
		{"A worker that belongs in it waits for it", 3 * time.Minute, d.workerWaits},
	}, steps[2:], []step{
		{"The control plane spreads onto it again, one machine at a time", 4 * time.Minute, d.rebalanced},
	})
}

func addSteps(d *demo) []step {
	return []step{
		{"A failure domain is added", 2 * time.Minute, d.addDomain},
		{"The control plane spreads onto it, one machine at a time", 4 * time.Minute, d.rebalanced},
	}
}

func evictSteps(d *demo) []step {
	return []step{
		{"A failure domain is to be evicted", time.Minute, d.evictDomain},
		{"The control plane leaves it, one machine at a time", 4 * time.Minute, d.rebalanced},
		{"The failure domain is Active again", time.Minute, d.activateDomain},
		{"The control plane spreads onto it again", 4 * time.Minute, d.rebalanced},
	}
}

func workersSteps(d *demo) []step {
	return []step{
		{"A failure domain is to be evicted", time.Minute, d.evictDomain},
		{"The workers leave it, one machine at a time", 4 * time.Minute, d.workersLevel},
		{"The failure domain is Active again", time.Minute, d.activateDomain},
		{"The workers spread onto it again", 4 * time.Minute, d.workersLevel},
	}
}

func logicalSteps(d *demo) []step {
	return []step{
		{"Machines are in 3 logical failure domains", 2 * time.Minute, d.logical(3)},
		{"The number of logical failure domains goes from 3 to 2", 4 * time.Minute, d.logical(2)},
		{"The number of logical failure domains goes from 2 to 4", 4 * time.Minute, d.logical(4)},
	}
}
