// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// domains returns the current failure domains of the cluster.
func (d *demo) domains() []string {
	return slices.DeleteFunc(slices.Clone(d.about.Domains), func(name string) bool { return name == d.withheld })
}

// infrastructureCluster returns the infrastructure cluster and its distribution status.
func (d *demo) infrastructureCluster(ctx context.Context) (*unstructured.Unstructured, faultlinev1.DistributionStatus, error) {
	known := faultlinev1.DistributionStatus{}
	object := d.infrastructureObject()
	if err := d.Management.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return nil, known, fmt.Errorf("reading the infrastructure cluster: %w", err)
	}
	fields, _, err := unstructured.NestedMap(object.Object, "status", "distribution")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &known)
	}
	return object, known, err
}

// infrastructureObject returns an infrastructure cluster with the name in the templates and nothing else.
func (d *demo) infrastructureObject() *unstructured.Unstructured {
	object := d.about.Of(d.about.ClusterKind)
	object.SetNamespace(d.cluster.Namespace)
	object.SetName(d.cluster.Name)
	return object
}

// want patches the spec of the infrastructure cluster.
func (d *demo) want(ctx context.Context, spec map[string]any) error {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}
	if err := d.Management.Client.Patch(ctx, d.infrastructureObject(), client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("updating the infrastructure cluster: %w", err)
	}
	return nil
}

// addDomain adds the withheld failure domain to the cluster.
func (d *demo) addDomain(ctx context.Context) error {
	for _, object := range d.later {
		if err := d.Management.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		d.objects = append([]*unstructured.Unstructured{object}, d.objects...)
	}
	if d.listed != nil {
		if err := d.want(ctx, map[string]any{"failureDomains": d.listed}); err != nil {
			return err
		}
	}
	d.reporter.note("created failure domain " + d.withheld)
	d.withheld = ""
	return d.domainsReady(ctx)
}

// setMiddle sets the state of the middle failure domain, as `kubectl fd` does.
func (d *demo) setMiddle(state faultlinev1.DomainState) func(context.Context) error {
	domain := d.about.Domains[len(d.about.Domains)/2]
	return func(ctx context.Context) error {
		err := d.want(ctx, map[string]any{"distribution": map[string]any{
			"failureDomains": []any{map[string]any{"name": domain, "state": string(state)}},
		}})
		if err != nil {
			return err
		}
		return provider.Until(ctx, func(ctx context.Context) (string, error) {
			now, err := d.observe(ctx)
			for _, known := range now.Domains {
				if known.Name == domain && known.State != string(state) {
					return fmt.Sprintf("failure domain %s is %s, want %s", domain, known.State, state), err
				}
			}
			return "", err
		})
	}
}

// rebalanced waits until the control plane is spread evenly over the domains that accept it, and verifies each time that at most one
// machine is moved at a time and that none is deleted before its replacement exists.
func (d *demo) rebalanced(ctx context.Context) error {
	err := d.untilBalanced(ctx, faultlinev1.ControlPlaneBalancedCondition, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		if err := snapshot.Surging(now, d.about.System); err != nil {
			return "", err
		}
		if missing := snapshot.Level(now, snapshot.RoleControlPlane); missing != "" {
			return missing, nil
		}
		_, known, err := d.infrastructureCluster(ctx)
		if err != nil {
			return "", err
		}
		if known.ControlPlane.CurrentMove != nil {
			return "the move of " + known.ControlPlane.CurrentMove.Machine + " is still in progress", nil
		}
		return d.complete(ctx, "", clusterv1.ClusterAvailableCondition)
	})
	if err != nil {
		return err
	}
	return d.printPlacement(ctx)
}

// untilBalanced waits until nothing is missing, and prints what a condition of the infrastructure cluster reports meanwhile.
func (d *demo) untilBalanced(ctx context.Context, condition string, check func(context.Context, snapshot.Snapshot) (string, error)) error {
	said := ""
	return d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		infra, _, err := d.infrastructureCluster(ctx)
		if err != nil {
			return "", err
		}
		said = d.tell(said, conditionText(infra, condition))
		return check(ctx, now)
	})
}

// tell prints the text of a condition if it has changed.
func (d *demo) tell(before, now string) string {
	if now != before && now != "" {
		for line := range strings.Lines(now) {
			d.reporter.note(strings.TrimRight(line, "\n"))
		}
	}
	return now
}

// printPlacement prints the placement of the machines in the infrastructure.
func (d *demo) printPlacement(ctx context.Context) error {
	now, err := d.observe(ctx)
	if err != nil {
		return err
	}
	d.placed = snapshot.PlacementTable(now)
	d.reporter.note("where " + d.about.System + " has the machines:")
	for _, line := range d.placed {
		d.reporter.note(line)
	}
	return nil
}

// words formats a condition.
func words(c metav1.Condition) string {
	return strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": ")
}

// conditionText returns the text of a condition of an object, or "".
func conditionText(object *unstructured.Unstructured, kind string) string {
	condition, err := conditions.UnstructuredGet(object, kind)
	if err != nil || condition == nil {
		return ""
	}
	return words(*condition)
}
