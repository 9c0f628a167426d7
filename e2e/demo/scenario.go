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

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// ScenarioOutage is the default scenario.
const ScenarioOutage = "outage"

// scenario holds what happens to a cluster after it is up and before it is deleted.
type scenario struct {
	// workers is the number of machines of the MachineDeployments: one for each in the template, or this many in a single one without a
	// failure domain.
	workers int
	// spreads enables the provider to choose the failure domains of the workers.
	spreads bool
	// withholds is set if the cluster does not have the last failure domain at first.
	withholds bool
	// several is set if each failure domain is on an infrastructure of its own.
	several bool
	// distribution is the cluster's spec.distribution.
	distribution map[string]any
	steps        func(*demo) []step
}

// stabilization is the stabilization window in seconds. It is shorter than in production, where a mistaken move has a cost.
const stabilization = int64(3)

// surgeOne enables rebalancing of control planes.
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

func scenarios() map[string]scenario {
	return map[string]scenario{
		ScenarioOutage: {workers: 2, steps: outageSteps},
		"return":       {workers: 2, distribution: surgeOne(), steps: returnSteps},
		"add":          {workers: 2, distribution: surgeOne(), withholds: true, steps: addSteps},
		"evict":        {workers: 2, distribution: surgeOne(), steps: evictSteps},
		"workers":      {workers: 6, spreads: true, distribution: spreadWorkers(nil), steps: workersSteps},
		"logical": {
			workers: 6, spreads: true, steps: logicalSteps,
			distribution: spreadWorkers(map[string]any{"desiredFailureDomains": int64(3)}),
		},
		"vcenter-lost": {workers: 2, several: true, steps: vcenterLostSteps},
	}
}

// Scenarios returns the names of the scenarios.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios())) }

// scenarioOf returns the scenario with a name, or an error that lists the names.
func scenarioOf(name string) (scenario, error) {
	all := scenarios()
	if s, ok := all[cmp.Or(name, ScenarioOutage)]; ok {
		return s, nil
	}
	return scenario{}, fmt.Errorf("unknown STORY %q: must be one of %s", name, strings.Join(Scenarios(), ", "))
}

// check reports whether the scenario works with that provider and flavor.
func (s scenario) check(o Options) error {
	if o.Scenario != "" && o.Scenario != ScenarioOutage && o.Flavor != "" {
		return errors.New("scenarios change the template without a flavor: choose a STORY or a FLAVOR, not both")
	}
	if _, able := o.Provider.(provider.SeveralInfrastructures); s.several && !able {
		return fmt.Errorf("STORY=%s needs a PROVIDER whose failure domains can be on several infrastructures: must be one of %s",
			o.Scenario, strings.Join(all.Names[provider.SeveralInfrastructures](), ", "))
	}
	return nil
}

// prepare changes the objects of the templates to the initial state of the scenario.
func (d *demo) prepare(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	deployments := 0
	for _, object := range objects {
		switch {
		case object.GetKind() == d.about.ClusterKind:
			if err := d.prepareCluster(object); err != nil {
				return nil, fmt.Errorf("preparing %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		case object.GetKind() == "MachineDeployment" && d.scenario.spreads:
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

// prepareCluster sets spec.distribution, and removes the withheld domain if the cluster itself lists its domains.
func (d *demo) prepareCluster(cluster *unstructured.Unstructured) error {
	for field, value := range d.scenario.distribution {
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

// prepareWorkers makes a MachineDeployment manage all workers, without a failure domain.
func (d *demo) prepareWorkers(deployment *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(deployment.Object, "spec", "template", "spec", "failureDomain")
	d.deployment = deployment.GetName()
	return unstructured.SetNestedField(deployment.Object, int64(d.scenario.workers), "spec", "replicas")
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
		{"A worker of this failure domain waits for it", 3 * time.Minute, d.workerWaits},
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
		{"A failure domain is evicted", time.Minute, d.setMiddle(faultlinev1.DomainEvicting)},
		{"The control plane leaves it, one machine at a time", 4 * time.Minute, d.rebalanced},
		{"The failure domain is Active again", time.Minute, d.setMiddle(faultlinev1.DomainActive)},
		{"The control plane spreads onto it again", 4 * time.Minute, d.rebalanced},
	}
}

func workersSteps(d *demo) []step {
	return []step{
		{"A failure domain is evicted", time.Minute, d.setMiddle(faultlinev1.DomainEvicting)},
		{"The workers leave it, one machine at a time", 4 * time.Minute, d.workersLevel},
		{"The failure domain is Active again", time.Minute, d.setMiddle(faultlinev1.DomainActive)},
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

func vcenterLostSteps(d *demo) []step {
	return []step{
		{"A client writes to the cluster", time.Minute, d.startWriting},
		{"A vCenter is gone, with everything that it runs", 2 * time.Minute, d.breakDomain},
		{"The control plane continues without it", 3 * time.Minute, d.continues},
		{"The vCenter is back", 3 * time.Minute, d.repairDomain},
		{"The client has lost no write", time.Minute, d.writesKept},
	}
}
