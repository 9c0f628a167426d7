// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/workload"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// change is one change of an object, or an action of the test.
type change struct {
	revision uint64
	at       time.Time
	what     string
	members  []workload.Member
	// apply applies the change to a copy of the moment before.
	apply func(*moment)
}

// after returns the moment after a change.
func (m moment) after(c change) moment {
	m.machines = slices.Clone(m.machines)
	c.apply(&m)
	m.at, m.what, m.members = c.at, c.what, c.members
	return m
}

// recorder records the changes of a control plane.
type recorder struct {
	// members returns the members of etcd.
	members func(context.Context) []workload.Member
	// changed is called after each change, in the observed order.
	changed func(ctx context.Context, before, now moment)

	mu      sync.Mutex
	changes []change
	latest  uint64
	seen    moment
}

// note adds a change. A change without a revision takes effect from now on.
func (r *recorder) note(ctx context.Context, c change) {
	c.at, c.members = time.Now(), r.members(ctx)
	r.mu.Lock()
	c.revision = cmp.Or(c.revision, r.latest)
	r.latest = max(r.latest, c.revision)
	r.changes = append(r.changes, c)
	before := r.seen
	r.seen = before.after(c)
	now := r.seen
	r.mu.Unlock()
	r.changed(ctx, before, now)
}

// done records an action.
func (r *recorder) done(ctx context.Context, what string, apply ...func(*moment)) {
	r.note(ctx, change{what: "- " + what, apply: func(m *moment) {
		for _, each := range apply {
			each(m)
		}
	}})
}

// last returns the most recently observed moment.
func (r *recorder) last() moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// history returns the history in the order of revisions, because watches of different kinds may be late.
func (r *recorder) history() history {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := slices.Clone(r.changes)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.revision, b.revision) })
	h := make(history, 0, len(changes))
	var m moment
	for _, c := range changes {
		m = m.after(c)
		h = append(h, m)
	}
	return h
}

// observer returns what a change of an object changes in a moment. The object is deleted if gone is set.
type observer func(object client.Object, gone bool) func(*moment)

// record watches the control planes of all namespaces until ctx ends. Informers deliver every change, also after an interruption.
func (g *commonEnvironment) record(ctx context.Context) error {
	controlPlane, err := g.kind.New(g.Client.RESTMapper())
	if err != nil {
		return err
	}
	watches, err := cache.New(g.Management.RESTConfig, cache.Options{Scheme: g.Client.Scheme(), Mapper: g.Client.RESTMapper()})
	if err != nil {
		return fmt.Errorf("watching control planes: %w", err)
	}
	for _, of := range []struct {
		kind    string
		object  client.Object
		observe observer
	}{
		{"Machine", &clusterv1.Machine{}, observeMachine}, {g.kind.Facts().Kind.Kind, controlPlane, g.kind.observe},
		{g.about.ClusterKind, g.about.Of(g.about.ClusterKind), observeCluster}, {g.about.MachineKind(), g.about.Of(g.about.MachineKind()), observeInfrastructureMachine},
	} {
		informer, err := watches.GetInformer(ctx, of.object)
		if err != nil {
			return fmt.Errorf("watching kind %s: %w", of.kind, err)
		}
		note := func(changed any, gone bool) {
			if missed, is := changed.(toolscache.DeletedFinalStateUnknown); is {
				changed = missed.Obj
			}
			object := changed.(client.Object)
			if r, ok := g.recorders.Load(object.GetNamespace()); ok {
				revision, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
				r.(*recorder).note(ctx, change{revision: revision, what: of.kind + " " + object.GetName(), apply: of.observe(object, gone)})
			}
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { note(o, false) }, UpdateFunc: func(_, o any) { note(o, false) }, DeleteFunc: func(o any) { note(o, true) },
		}); err != nil {
			return err
		}
	}
	g.Go(ctx, "watches", watches.Start)
	if !watches.WaitForCacheSync(ctx) {
		return context.Cause(ctx)
	}
	return nil
}

// ourMark is the prefix of the delete-machine value that a move sets. A policy may remove the other annotation that marks a move.
const ourMark = "faultline-rebalance"

// outdatedSuffix is what a move adds to cloned-from-name: docs/decisions/cloned-from.md.
const outdatedSuffix = "-rebalance"

func observeMachine(object client.Object, gone bool) func(*moment) {
	o := object.(*clusterv1.Machine)
	_, ours := o.Annotations[faultlinev1.MarkedForMoveAnnotation]
	value, asked := o.Annotations[clusterv1.DeleteMachineAnnotation]
	ours = ours || strings.HasPrefix(value, ourMark)
	_, remediate := o.Annotations[clusterv1.RemediateMachineAnnotation]
	return func(m *moment) {
		i, there := m.find(o.Name)
		switch {
		case gone && there:
			m.machines = slices.Delete(m.machines, i, i+1)
		case !gone && !there:
			m.machines = slices.Insert(m.machines, i, machine{name: o.Name})
		}
		m.edit(o.Name, func(is *machine) {
			is.created, is.domain = o.CreationTimestamp.Time, cmp.Or(o.Status.FailureDomain, o.Spec.FailureDomain)
			is.marked, is.claimed = ours, asked && !ours
			is.ready, is.deleting = conditions.IsTrue(o, clusterv1.MachineReadyCondition), !o.DeletionTimestamp.IsZero()
			is.failing = remediate || conditions.IsFalse(o, clusterv1.MachineHealthCheckSucceededCondition)
		})
	}
}

func observeInfrastructureMachine(object client.Object, gone bool) func(*moment) {
	owner := metav1.GetControllerOf(object)
	outdated := !gone && strings.HasSuffix(object.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation], outdatedSuffix)
	return func(m *moment) {
		if owner != nil {
			m.edit(owner.Name, func(is *machine) { is.outdated = outdated })
		}
	}
}

func (k controlPlaneKind) observe(object client.Object, _ bool) func(*moment) {
	is, err := k.Observe(object)
	return func(m *moment) {
		if err == nil {
			m.replicas, m.paused, m.rollout, m.remediation = is.Replicas, is.Paused, is.RolloutAfter, is.Remediation
		}
	}
}

// observeCluster observes an infrastructure cluster.
func observeCluster(object client.Object, _ bool) func(*moment) {
	o := object.(*unstructured.Unstructured)
	known, recorded, err := distributionOf(o)
	return func(m *moment) {
		if err != nil {
			return
		}
		m.move, m.shown, m.states, m.balanced = recorded, known.ControlPlane.CurrentMove != nil, map[string]faultlinev1.DomainState{}, metav1.Condition{}
		for i := range known.FailureDomains {
			m.states[known.FailureDomains[i].Name] = known.FailureDomains[i].State
		}
		if condition, err := conditions.UnstructuredGet(o, faultlinev1.ControlPlaneBalancedCondition); err == nil && condition != nil {
			m.balanced = *condition
		}
	}
}

// distributionOf returns status.distribution and the record of a move.
func distributionOf(o *unstructured.Unstructured) (known faultlinev1.DistributionStatus, recorded *move, err error) {
	fields, _, err := unstructured.NestedMap(o.Object, "status", "distribution")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &known)
	}
	if text := o.GetAnnotations()[faultlinev1.CurrentMoveAnnotation]; text != "" {
		recorded = &move{}
		err = errors.Join(err, json.Unmarshal([]byte(text), recorded))
	}
	return known, recorded, err
}
