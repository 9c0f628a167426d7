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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
)

// change is one change of an object, or an action of the test.
type change struct {
	revision uint64
	at       time.Time
	what     string
	// apply applies the change.
	apply   func(*state)
	members []etcdMember
}

// state is the observed state of a control plane.
type state struct {
	machines map[string]machine // by name, from their Machines
	outdated map[string]bool    // by infrastructure machine
	infra    map[string]string  // the infrastructure machine of each Machine
	deleted  map[types.UID]bool // by the user
	released map[types.UID]bool // by the user
	moment   moment
	// remediation is the last remediation that the control plane has noted.
	remediation machines.Remediation
}

func newState() *state {
	return &state{
		machines: map[string]machine{}, outdated: map[string]bool{}, infra: map[string]string{},
		deleted: map[types.UID]bool{}, released: map[types.UID]bool{},
	}
}

// after returns the moment after a change.
func (s *state) after(c change) moment {
	c.apply(s)
	m := s.moment
	m.at, m.what, m.members, m.machines = c.at, c.what, c.members, nil
	var created []time.Time
	for _, name := range sortedKeys(s.machines) {
		is := s.machines[name]
		created = append(created, is.created)
		is.outdated, is.deletedByPerson, is.releasedByPerson = s.outdated[s.infra[name]], s.deleted[is.uid], s.released[is.uid]
		m.machines = append(m.machines, is)
	}
	m.remediated = s.remediation.Heeded(created).Noted
	return m
}

// recorder watches a control plane.
type recorder struct {
	client client.WithWatch
	kinds  kinds
	// look returns the members of etcd.
	look func(context.Context) []etcdMember
	// observeTransition is called after each change, in the observed order.
	heed func(before, now moment)

	mu      sync.Mutex
	changes []change
	latest  uint64
	state   *state
	seen    moment
}

// kinds are the kinds of the provider and of the control plane.
type kinds struct {
	cluster, machine unstructured.Unstructured
	controlPlane     controlPlaneKind
}

// watched is a kind that the recorder watches.
type watched struct {
	list client.ObjectList
	// change returns the change that an object shows. It is deleted if gone is true.
	change func(object client.Object, gone bool) change
}

func (k kinds) watched() []watched {
	return []watched{
		{&clusterv1.MachineList{}, machineChange}, {k.controlPlane.list(), k.controlPlane.change}, {listOf(k.cluster), clusterChange}, {listOf(k.machine), infraChange},
	}
}

// record watches a namespace until ctx ends.
func (r *recorder) record(ctx context.Context, namespace string) error {
	r.state = newState()
	for _, kind := range r.kinds.watched() {
		w, err := r.client.Watch(ctx, kind.list, client.InNamespace(namespace))
		if err != nil {
			return fmt.Errorf("watching %T in %s: %w", kind.list, namespace, err)
		}
		go r.follow(ctx, w, kind, namespace)
	}
	return nil
}

// follow records changes until ctx ends. It restarts an ended watch after the last revision that it delivered.
func (r *recorder) follow(ctx context.Context, w watch.Interface, kind watched, namespace string) {
	last := ""
	for {
		for event := range w.ResultChan() {
			object, ok := event.Object.(client.Object)
			if !ok || event.Type == watch.Error {
				last = "" // The revision has expired: start from the current state.
				continue
			}
			last = object.GetResourceVersion()
			c := kind.change(object, event.Type == watch.Deleted)
			c.revision, _ = strconv.ParseUint(last, 10, 64)
			r.note(ctx, c)
		}
		w.Stop()
		for {
			if provider.Pause(ctx, provider.PollInterval) != nil {
				return
			}
			var err error
			if w, err = r.client.Watch(ctx, kind.list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: last}}); err == nil {
				break
			}
		}
	}
}

func listOf(kind unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind())
	return list
}

// note adds a change. A change without a revision takes effect from now on.
func (r *recorder) note(ctx context.Context, c change) {
	c.at, c.members = time.Now(), r.look(ctx)
	r.mu.Lock()
	if c.revision == 0 {
		c.revision = r.latest
	}
	r.latest = max(r.latest, c.revision)
	r.changes = append(r.changes, c)
	before := r.seen
	r.seen = r.state.after(c)
	now := r.seen
	r.mu.Unlock()
	r.heed(before, now)
}

// done records an action.
func (r *recorder) done(ctx context.Context, what string, apply func(*state)) {
	if apply == nil {
		apply = func(*state) {}
	}
	r.note(ctx, change{what: "- " + what, apply: apply})
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
	s := newState()
	h := make(history, 0, len(changes))
	for _, c := range changes {
		h = append(h, s.after(c))
	}
	return h
}

// ourMark is the prefix of the delete-machine value that a move sets. A policy may remove the other annotation that marks a move.
const ourMark = "faultline-rebalance"

// outdatedSuffix is what a move adds to cloned-from-name: docs/decisions/cloned-from.md.
const outdatedSuffix = "-rebalance"

func machineChange(object client.Object, gone bool) change {
	o := object.(*clusterv1.Machine)
	_, ours := o.Annotations[faultlinev1.MarkedForMoveAnnotation]
	value, asked := o.Annotations[clusterv1.DeleteMachineAnnotation]
	ours = ours || strings.HasPrefix(value, ourMark)
	_, remediate := o.Annotations[clusterv1.RemediateMachineAnnotation]
	is := machine{
		name: o.Name, uid: o.UID, created: o.CreationTimestamp.Time, domain: cmp.Or(o.Status.FailureDomain, o.Spec.FailureDomain), marked: ours, claimed: asked && !ours,
		ready: conditions.IsTrue(o, clusterv1.MachineReadyCondition), deleting: !o.DeletionTimestamp.IsZero(),
		failing: remediate || conditions.IsFalse(o, clusterv1.MachineHealthCheckSucceededCondition),
	}
	return change{what: "Machine " + o.Name, apply: func(s *state) {
		s.machines[o.Name], s.infra[o.Name] = is, o.Spec.InfrastructureRef.Name
		if gone {
			delete(s.machines, o.Name)
		}
	}}
}

// infraChange returns the change of an infrastructure machine.
func infraChange(object client.Object, gone bool) change {
	o := object.(*unstructured.Unstructured)
	return change{what: o.GetKind() + " " + o.GetName(), apply: func(s *state) {
		s.outdated[o.GetName()] = !gone && strings.HasSuffix(o.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation], outdatedSuffix)
	}}
}

// clusterChange returns the change of an infrastructure cluster.
func clusterChange(object client.Object, _ bool) change {
	o := object.(*unstructured.Unstructured)
	known, under, err := distributionOf(o)
	return change{what: o.GetKind() + " " + o.GetName(), apply: func(s *state) {
		if err != nil {
			return
		}
		s.moment.move, s.moment.shown, s.moment.states = under, known.ControlPlane.CurrentMove != nil, map[string]faultlinev1.DomainState{}
		for i := range known.FailureDomains {
			s.moment.states[known.FailureDomains[i].Name] = known.FailureDomains[i].State
		}
		s.moment.balanced = metav1.Condition{}
		if condition, err := conditions.UnstructuredGet(o, faultlinev1.ControlPlaneBalancedCondition); err == nil && condition != nil {
			s.moment.balanced = *condition
		}
	}}
}

// distributionOf returns status.distribution and the record of a move.
func distributionOf(o *unstructured.Unstructured) (known faultlinev1.DistributionStatus, under *move, err error) {
	fields, _, err := unstructured.NestedMap(o.Object, "status", "distribution")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &known)
	}
	if text := o.GetAnnotations()[faultlinev1.CurrentMoveAnnotation]; text != "" {
		under = &move{}
		err = errors.Join(err, json.Unmarshal([]byte(text), under))
	}
	return known, under, err
}
