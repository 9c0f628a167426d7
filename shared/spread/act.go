// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// mentioned is the maximum number of items that a message lists.
const mentioned = 10

// parallel is the number of infrastructure machines of a cluster that are written concurrently: at least as many as a provider
// reconciles concurrently. Both share the manager's client rate limit. With a lower number, reconciles of the machines that are
// assigned first would delay the assignments of the others.
const parallel = 100

// assign writes assignments to the infrastructure machines, one request each, with the resourceVersion from which the decision
// was made. If a machine was changed since by its provider or another manager, the write conflicts and the decision is made
// again.
func (r *Reconciler) assign(ctx context.Context, s *scope, given []Assignment) error {
	if len(given) == 0 {
		return nil
	}
	errs := each(len(given), func(i int) error { return r.write(ctx, s.members[given[i].Machine].infra, given[i]) })
	r.busy.Store(client.ObjectKeyFromObject(s.cluster), r.Clock.Now())
	r.recordAssignments(s, given, errs)
	return mergeErrors(errs)
}

// each calls do with 0 to n-1, up to parallel calls at a time.
func each(n int, do func(int) error) []error {
	errs := make([]error, n)
	slots, all := make(chan struct{}, parallel), sync.WaitGroup{}
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return errs
}

// mergeErrors returns other errors joined if there are any. Otherwise it returns a RemovedError, or else a conflict.
func mergeErrors(errs []error) error {
	var conflict, undone error
	var others []error
	for _, err := range errs {
		switch {
		case apierrors.IsConflict(err), errors.Is(err, patch.ErrBehind):
			conflict = err
		case errors.As(err, new(*patch.RemovedError)):
			undone = err
		case client.IgnoreNotFound(err) != nil:
			others = append(others, err)
		}
	}
	switch {
	case len(others) > 0:
		return kerrors.NewAggregate(others)
	case undone != nil:
		return undone
	}
	return conflict
}

func (r *Reconciler) write(ctx context.Context, infra client.Object, a Assignment) error {
	before := infra.DeepCopyObject().(client.Object)
	after := infra.DeepCopyObject().(client.Object)
	faultlinev1.Rename(after)
	if !r.Provider.Location(infra).Exists {
		after.SetAnnotations(with(after.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation, a.Domain))
	}
	if a.Key != "" {
		after.SetLabels(with(after.GetLabels(), faultlinev1.DistributionKeyLabel, a.Key))
	}
	if err := r.machines.Repeats.Write(ctx, r.Client, before, after); err != nil {
		return fmt.Errorf("assigning %s to %s: %w", a.Domain, infra.GetName(), err)
	}
	r.assigned.note(after)
	return nil
}

// label copies the keys of infrastructure machines, which are authoritative, to their Machines.
func (r *Reconciler) label(ctx context.Context, s *scope) error {
	var labelled []*clusterv1.Machine
	for _, m := range s.members {
		if m.infra == nil || !isWorker(m.machine) || !m.machine.DeletionTimestamp.IsZero() || r.machines.Stale(m.machine) {
			continue
		}
		if _, key := r.assigned.read(m.infra); key != "" && m.machine.Labels[faultlinev1.DistributionKeyLabel] != key {
			after := m.machine.DeepCopy()
			faultlinev1.Rename(after)
			after.Labels = with(after.Labels, faultlinev1.DistributionKeyLabel, key)
			labelled = append(labelled, after)
		}
	}
	return mergeErrors(each(len(labelled), func(i int) error {
		after := labelled[i]
		if err := r.machines.Repeats.Write(ctx, r.Client, s.members[after.Name].machine, after); err != nil {
			return fmt.Errorf("labeling Machine %s with its logical failure domain: %w", after.Name, err)
		}
		r.machines.Observe(after)
		return nil
	}))
}

// with returns a copy of the map with one more entry.
func with(values map[string]string, key, value string) map[string]string {
	values = maps.Clone(values)
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}

// recordAssignments records one event per MachineDeployment about its assignments.
func (r *Reconciler) recordAssignments(s *scope, given []Assignment, errs []error) {
	byPlace := map[string]map[string]int{}
	for i, a := range given {
		if errs[i] != nil {
			continue
		}
		at := slices.IndexFunc(s.state.Machines, func(m Machine) bool { return m.Name == a.Machine })
		deployment, place := s.state.Machines[at].Deployment, a.Domain
		if a.Key != "" {
			place += " (" + a.Key + ")"
		}
		if a.From != "" {
			place += " instead of " + a.From
		}
		if byPlace[deployment] == nil {
			byPlace[deployment] = map[string]int{}
		}
		byPlace[deployment][place]++
	}
	for _, deployment := range slices.Sorted(maps.Keys(byPlace)) {
		var counts []string
		for _, place := range slices.Sorted(maps.Keys(byPlace[deployment])) {
			counts = append(counts, fmt.Sprintf("%d to %s", byPlace[deployment][place], place))
		}
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "WorkersAssigned", "Assign",
			"Assigned machines of MachineDeployment %s: %s", deployment, strings.Join(counts[:min(len(counts), mentioned)], ", "))
	}
}
