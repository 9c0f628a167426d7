// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	"github.com/faultline-io/faultline/e2e/provider"
)

// domainsReady waits until every domain is healthy according to its own object and is published for control planes.
func (d *demo) domainsReady(ctx context.Context) error {
	return d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		for _, domain := range now.Domains {
			if missing, err := d.domainIs(ctx, domain, true); missing != "" || err != nil {
				return missing, err
			}
		}
		return "", nil
	})
}

// domainIs returns what is missing until both the Cluster and the domain's own object report a domain as healthy or as broken.
func (d *demo) domainIs(ctx context.Context, domain snapshot.Domain, good bool) (missing string, err error) {
	if domain.State == "" {
		return fmt.Sprintf("the Cluster does not list failure domain %s", domain.Name), nil
	}
	if domain.ControlPlane != good {
		return fmt.Sprintf("failure domain %s is published as %s %s with controlPlane: %v", domain.Name, domain.State, domain.Reason, domain.ControlPlane), nil
	}
	if d.about.DomainKind == nil {
		return "", nil
	}
	ready, err := d.domainCondition(ctx, domain.Name)
	if err != nil {
		return "", err
	}
	if (ready.Status == metav1.ConditionTrue) != good {
		return fmt.Sprintf("%s %s has %s", d.about.DomainKind.Kind, domain.Name, words(ready)), nil
	}
	return "", nil
}

// domainCondition returns the Ready condition of a domain's object.
func (d *demo) domainCondition(ctx context.Context, name string) (metav1.Condition, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(*d.about.DomainKind)
	if err := d.Management.Client.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return metav1.Condition{}, err
	}
	ready, err := conditions.UnstructuredGet(object, clusterv1.ReadyCondition)
	if err != nil || ready == nil {
		return metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: "NotReported"}, err
	}
	return *ready, nil
}

// clusterUp waits until Cluster API reports the cluster as available with all its machines ready.
func (d *demo) clusterUp(ctx context.Context) error {
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		return d.complete(ctx, "", clusterv1.ClusterAvailableCondition)
	})
}

// complete returns what is missing until all machines exist and are ready and the conditions are true. Machines in the domain
// down, unless that is "", need not be ready.
func (d *demo) complete(ctx context.Context, down string, required ...string) (missing string, err error) {
	var cluster clusterv1.Cluster
	if err := d.Management.Client.Get(ctx, d.cluster, &cluster); err != nil {
		return "", err
	}
	now, err := d.observe(ctx)
	if err != nil {
		return "", err
	}
	if missing := snapshot.Complete(now, down, d.scenario.workers); missing != "" {
		return missing, nil
	}
	for _, kind := range required {
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, kind) {
			return fmt.Sprintf("condition %s of Cluster %s", kind, d.cluster.Name), nil
		}
	}
	return "", nil
}

// checkSpread compares the placement in the infrastructure with the requested domains.
func (d *demo) checkSpread(ctx context.Context) error {
	return d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		if missing, err := snapshot.Spread(now, d.about.System, d.scenario.spreads); missing != "" || err != nil {
			return missing, err
		}
		return "", d.printPlacement(ctx)
	})
}

// breakDomain breaks the domain of a control-plane machine and waits until that is reported.
func (d *demo) breakDomain(ctx context.Context) error {
	now, err := d.observe(ctx)
	if err != nil {
		return err
	}
	// The middle domain also has workers, which must not change.
	d.failed = now.In(snapshot.RoleControlPlane, d.about.Domains[len(d.about.Domains)/2])[0]
	what, err := d.infrastructure.Break(ctx, d.failed.Domain)
	if err != nil {
		return err
	}
	d.reporter.note(what)
	return d.seen(ctx, false)
}

// repairDomain undoes breakDomain and waits until that is reported.
func (d *demo) repairDomain(ctx context.Context) error {
	what, err := d.infrastructure.Repair(ctx, d.failed.Domain)
	if err != nil {
		return err
	}
	d.reporter.note(what)
	if err := d.seen(ctx, true); err != nil {
		return err
	}
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		return d.complete(ctx, "", clusterv1.ClusterAvailableCondition)
	})
}

// seen waits until the domain of the failed machine, and no other, is reported as healthy or broken.
func (d *demo) seen(ctx context.Context, good bool) error {
	err := d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		for _, domain := range now.Domains {
			want := good || domain.Name != d.failed.Domain
			if missing, err := d.domainIs(ctx, domain, want); missing != "" || err != nil {
				return missing, err
			}
		}
		return "", nil
	})
	if err != nil || d.about.DomainKind == nil {
		return err
	}
	ready, err := d.domainCondition(ctx, d.failed.Domain)
	if err != nil {
		return err
	}
	d.reporter.note(fmt.Sprintf("%s %s: %s", d.about.DomainKind.Kind, d.failed.Domain, words(ready)))
	return nil
}

// replace deletes the failed machine and waits until the cluster is complete again. At no time may a new machine be in the broken domain.
func (d *demo) replace(ctx context.Context) error {
	before, err := d.observe(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range before.Machines {
		known[m.Name] = true
	}
	if err := d.letGo(ctx, d.failed); err != nil {
		return err
	}
	return d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		if missing, err := snapshot.Replaced(now, d.failed, known); missing != "" || err != nil {
			return missing, err
		}
		missing, err := d.completeWithout(ctx, d.failed.Domain)
		if missing == "" && err == nil {
			d.noteReplacement(now, known)
		}
		return missing, err
	})
}

// letGo deletes a machine, and does what a user must do before it can be deleted.
func (d *demo) letGo(ctx context.Context, m snapshot.Machine) error {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: d.cluster.Namespace, Name: m.Name}}
	if err := d.Management.Client.Delete(ctx, machine); err != nil {
		return fmt.Errorf("deleting Machine %s: %w", m.Name, err)
	}
	d.reporter.note("deleted Machine " + m.Name)
	notes, err := d.infrastructure.ReleaseHost(ctx, m.Host)
	if err != nil {
		return fmt.Errorf("letting Machine %s go: %w", m.Name, err)
	}
	for _, note := range notes {
		d.reporter.note(note)
	}
	return nil
}

// completeWithout is like complete while a domain is broken. The Cluster as a whole is then not Available; neither are workers
// that stopped with the domain.
func (d *demo) completeWithout(ctx context.Context, domain string) (missing string, err error) {
	if d.about.BreakStops {
		return d.complete(ctx, domain, clusterv1.ClusterControlPlaneAvailableCondition)
	}
	return d.complete(ctx, "", clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterWorkersAvailableCondition)
}

func (d *demo) noteReplacement(now snapshot.Snapshot, known map[string]bool) {
	for _, m := range now.Machines {
		if !known[m.Name] {
			d.replacement = m
			d.reporter.note(fmt.Sprintf("%s shows its replacement %s in %s", d.about.System, m.Name, m.Domain))
		}
	}
}

// workerWaits deletes a worker in the broken domain. Its MachineDeployment uses only that domain: the replacement must wait, and nothing
// may be created for it anywhere.
func (d *demo) workerWaits(ctx context.Context) error {
	before, err := d.observe(ctx)
	if err != nil {
		return err
	}
	worker, err := snapshot.WorkerIn(before, d.failed.Domain)
	if err != nil {
		return err
	}
	if err := d.letGo(ctx, worker); err != nil {
		return err
	}
	waits := ""
	err = d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		replacement, missing, err := snapshot.Waiting(now, worker)
		if missing != "" || err != nil {
			return missing, err
		}
		var machine clusterv1.Machine
		if err := d.Management.Client.Get(ctx, client.ObjectKey{Namespace: d.cluster.Namespace, Name: replacement}, &machine); err != nil {
			return "", err
		}
		if waits = snapshot.WaitsFor(d.failed.Domain, machine.Status.Conditions); waits == "" {
			return fmt.Sprintf("Machine %s does not report that it waits for %s", replacement, d.failed.Domain), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	d.tell("", waits)
	return nil
}

// remove deletes the cluster, then the other applied objects, and waits until nothing is left in the infrastructure and in the API.
func (d *demo) remove(ctx context.Context) error {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: d.cluster.Namespace, Name: d.cluster.Name}}
	if err := d.Management.Client.Delete(ctx, cluster); err != nil {
		return fmt.Errorf("deleting Cluster %s: %w", d.cluster.Name, err)
	}
	err := provider.Until(ctx, func(ctx context.Context) (string, error) {
		if what, err := d.infrastructure.Leftovers(ctx); what != "" || err != nil {
			return what, err
		}
		err := d.Management.Client.Get(ctx, d.cluster, cluster)
		if !apierrors.IsNotFound(err) {
			return "Cluster " + d.cluster.Name + " still exists", err
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	d.reporter.note("the Cluster is deleted, and " + d.about.System + " has none of its machines")
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		if err := d.removeApplied(ctx); err != nil {
			return "", err
		}
		return d.remainingObject(ctx)
	})
}

// removeApplied deletes the applied objects, dependents first. A deletion that is refused because a dependent is still being deleted must
// be retried.
func (d *demo) removeApplied(ctx context.Context) error {
	var refused []error
	for _, object := range slices.Backward(d.objects) {
		if err := d.Management.Client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			refused = append(refused, fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(refused...)
}

// remainingObject returns the name of a remaining object of Cluster API.
func (d *demo) remainingObject(ctx context.Context) (left string, err error) {
	objects, err := d.clusterAPIObjects(ctx)
	if err != nil || len(objects) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s %s still exists", objects[0].GetKind(), objects[0].GetName()), nil
}
