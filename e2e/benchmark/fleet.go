// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// Fleet creates machines of a cluster, spread over failure domains.
type Fleet[M provider.WithConditions] struct {
	Client  client.WithWatch
	Cluster *provider.Cluster
	// Domains are the failure domains of the machines in turn; "" lets the manager choose.
	Domains []string
	// New returns an infrastructure machine with this metadata, List is an empty list of such machines.
	New  func(metav1.ObjectMeta) M
	List client.ObjectList
	// Done reports whether a machine needs no further work, for example because it is provisioned.
	Done func(M) bool
	// Placements returns all machines in the infrastructure.
	Placements func(context.Context) ([]provider.Placement, error)

	domains map[string]string // of each machine
}

// Prepare implements Infrastructure.
func (f *Fleet[M]) Prepare(ctx context.Context, n int) (func(context.Context) error, error) {
	machines, first := make([]M, n), len(f.domains)
	if f.domains == nil {
		f.domains = map[string]string{}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range machines {
		name, domain := fmt.Sprintf("%s-%04d", f.Cluster.Name, first+i), f.Domains[i%len(f.Domains)]
		f.domains[name] = domain
		group.Go(func() error {
			meta, err := f.Cluster.CreateMachine(groupCtx, f.Client, name, domain)
			machines[i] = f.New(meta)
			return err
		})
	}
	return func(ctx context.Context) error { return f.create(ctx, machines) }, group.Wait()
}

// create creates infrastructure machines, waits until each is done and checks their placement.
func (f *Fleet[M]) create(ctx context.Context, machines []M) error {
	names := make([]string, len(machines))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce + 1)
	for i, machine := range machines {
		names[i] = machine.GetName()
	}
	group.Go(func() error { return Await(groupCtx, f.Client, f.List, names, f.Done) })
	for _, machine := range machines {
		// The watch decodes into its own objects, so this one is not shared.
		group.Go(func() error { return provider.Create(groupCtx, f.Client, machine) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return f.check(ctx)
}

// check verifies that the infrastructure has each machine once, in its failure domain, and no others.
func (f *Fleet[M]) check(ctx context.Context) error {
	placements, err := f.Placements(ctx)
	if err != nil {
		return err
	}
	in := map[string]string{}
	for _, p := range placements {
		in[p.Name] = p.Domain
	}
	for name, domain := range f.domains {
		if is, exists := in[name]; !exists || domain != "" && is != domain {
			return fmt.Errorf("checking placement: machine %s is in %q, want %q", name, is, domain)
		}
	}
	if len(placements) != len(f.domains) {
		return fmt.Errorf("checking placement: there are %d machines in the infrastructure, want %d", len(placements), len(f.domains))
	}
	return nil
}

// Await watches objects of a kind in all namespaces until each of the named ones is done.
func Await[M provider.WithConditions](ctx context.Context, api client.WithWatch, kind client.ObjectList, names []string, done func(M) bool) error {
	w := newWaiting(names, done)
	for len(w.missing) > 0 {
		// The API server ends watches that cannot keep up with a burst of changes. A new watch begins with the current state of all
		// objects.
		changes, err := api.Watch(ctx, kind)
		if err == nil {
			w.follow(ctx, changes)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return w.explain(err)
		}
	}
	return nil
}

// waiting holds the objects that are not done yet with their last conditions.
type waiting[M provider.WithConditions] struct {
	done    func(M) bool
	missing map[string][]metav1.Condition
}

func newWaiting[M provider.WithConditions](names []string, done func(M) bool) *waiting[M] {
	w := &waiting[M]{done: done, missing: map[string][]metav1.Condition{}}
	for _, name := range names {
		w.missing[name] = nil
	}
	return w
}

// follow records changes until nothing is missing or the watch has ended.
func (w *waiting[M]) follow(ctx context.Context, changes watch.Interface) {
	defer changes.Stop()
	for len(w.missing) > 0 {
		select {
		case <-ctx.Done():
			return
		case change, open := <-changes.ResultChan():
			found, ok := change.Object.(M)
			if !open || !ok {
				return
			}
			w.note(found)
		}
	}
}

func (w *waiting[M]) note(found M) {
	name := found.GetName()
	if _, missing := w.missing[name]; !missing {
		return
	}
	if !w.done(found) {
		w.missing[name] = found.GetConditions()
		return
	}
	delete(w.missing, name)
}

// explain adds the conditions of the first missing object to the cause.
func (w *waiting[M]) explain(cause error) error {
	first := slices.Min(slices.Collect(maps.Keys(w.missing)))
	return fmt.Errorf("waiting for machines: %w; %d are not ready, the first is %s%s",
		cause, len(w.missing), first, provider.Explain(w.missing[first]))
}

// Batch holds the cost of creating a number of machines at once.
type Batch struct {
	Machines int
	// Began is the time of the first creation, and Seconds the time until the last machine was ready.
	Began   time.Time
	Seconds float64
	// Cost includes the work until the manager was idle again.
	Cost
	// Peak is the manager's highest memory in bytes.
	Peak int64
}

// Per returns a count per machine.
func (b Batch) Per(count int) float64 { return float64(count) / float64(b.Machines) }

// Batch creates n machines at once and measures the cost.
func (e *Environment) Batch(ctx context.Context, i Infrastructure, n int) (b Batch, err error) {
	b.Machines = n
	provision, err := i.Prepare(ctx, n)
	if err != nil {
		return b, err
	}
	if err := e.Rest(ctx); err != nil {
		return b, err
	}
	b.Cost, err = e.During(ctx, func() error {
		b.Began = time.Now()
		if err := provision(ctx); err != nil {
			return err
		}
		b.Seconds = time.Since(b.Began).Seconds()
		e.Progressf("%d machines are ready after %.1f s", n, b.Seconds)
		return e.Rest(ctx)
	})
	if err != nil {
		return b, err
	}
	_, b.Peak, err = e.Memory()
	return b, err
}
