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

// Machine is an infrastructure machine of any provider.
type Machine interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Fleet makes machines of a cluster, spread over failure domains.
type Fleet[M Machine] struct {
	Client  client.WithWatch
	Cluster *provider.Cluster
	Domains []string
	// New is an infrastructure machine with this metadata, List an empty list of them.
	New  func(metav1.ObjectMeta) M
	List client.ObjectList
	// Provisioned reports whether one is.
	Provisioned func(M) bool
	// Check finds what is wrong with the places of all machines so far, whose failure domains are given by name.
	Check func(ctx context.Context, domains map[string]string) error

	domains map[string]string
}

// Machines makes n Machines with bootstrap data and returns their infrastructure machines, which are still to be created.
func (f *Fleet[M]) Machines(ctx context.Context, n int) ([]M, error) {
	made, first := make([]M, n), len(f.domains)
	if f.domains == nil {
		f.domains = map[string]string{}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range made {
		name, domain := fmt.Sprintf("%s-%04d", f.Cluster.Name, first+i), f.Domains[i%len(f.Domains)]
		f.domains[name] = domain
		group.Go(func() error {
			meta, err := f.Cluster.CreateMachine(ctx, f.Client, name, domain)
			made[i] = f.New(meta)
			return err
		})
	}
	return made, group.Wait()
}

// Create creates infrastructure machines, waits until each is done and checks their places. It returns after how many seconds from its
// creation each was, sorted.
func (f *Fleet[M]) Create(ctx context.Context, all []M, done func(M) bool) ([]float64, error) {
	var seen map[string]time.Time
	created := make([]time.Time, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce + 1)
	group.Go(func() (err error) {
		seen, err = f.Await(groupCtx, all, done)
		return err
	})
	for i, machine := range all {
		// The watch decodes into objects of its own, so this one is not shared.
		group.Go(func() error {
			created[i] = time.Now()
			return provider.Create(groupCtx, f.Client, machine)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	seconds := make([]float64, 0, len(all))
	for i, machine := range all {
		seconds = append(seconds, seen[machine.GetName()].Sub(created[i]).Seconds())
	}
	slices.Sort(seconds)
	return seconds, f.Check(ctx, f.domains)
}

// Prepare implements Infrastructure.
func (f *Fleet[M]) Prepare(ctx context.Context, n int) (func(context.Context) error, error) {
	all, err := f.Machines(ctx, n)
	return func(ctx context.Context) error {
		_, err := f.Create(ctx, all, f.Provisioned)
		return err
	}, err
}

// Await waits until each machine is done and returns when it was.
func (f *Fleet[M]) Await(ctx context.Context, all []M, done func(M) bool) (map[string]time.Time, error) {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.GetName())
	}
	return Await(ctx, Objects{f.Client, f.List, f.Cluster.Name}, names, done)
}

// Objects are those of a kind in a namespace, or in all.
type Objects struct {
	Client    client.WithWatch
	Kind      client.ObjectList
	Namespace string
}

// Await watches objects until each of those with these names is done, and returns when it was.
func Await[M Machine](ctx context.Context, of Objects, names []string, done func(M) bool) (map[string]time.Time, error) {
	w := newWaiting(names, done)
	for len(w.missing) > 0 {
		// The API server ends watches that cannot keep up with a burst of changes. A
		// new one begins with all objects as they are.
		changes, err := of.Client.Watch(ctx, of.Kind, client.InNamespace(of.Namespace))
		if err == nil {
			w.follow(ctx, changes)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, w.explain(err)
		}
	}
	return w.seen, nil
}

// waiting are objects that are not done yet, with the conditions that they had, and when the others were.
type waiting[M Machine] struct {
	done    func(M) bool
	missing map[string][]metav1.Condition
	seen    map[string]time.Time
}

func newWaiting[M Machine](names []string, done func(M) bool) *waiting[M] {
	w := &waiting[M]{done: done, missing: map[string][]metav1.Condition{}, seen: map[string]time.Time{}}
	for _, name := range names {
		w.missing[name] = nil
	}
	return w
}

// follow notes changes until nothing is missing or the watch has ended.
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
	w.seen[name] = time.Now()
}

// explain adds what is known of the first of the objects that are missing.
func (w *waiting[M]) explain(cause error) error {
	first := slices.Min(slices.Collect(maps.Keys(w.missing)))
	return fmt.Errorf("waiting for machines: %w; %d are not ready, the first is %s%s",
		cause, len(w.missing), first, provider.Explain(w.missing[first]))
}

// Batch is what it took to make a number of machines at once.
type Batch struct {
	Machines int
	// Seconds passed until the last was ready.
	Seconds float64
	// Cost runs on until the manager has come to rest.
	Cost
	// RSS and Peak are the manager's memory in bytes at the end, and at its highest.
	RSS, Peak int64
}

// Per is a count for each machine.
func (b Batch) Per(count int) float64 { return float64(count) / float64(b.Machines) }

// Batch makes machines at once.
func (e *Environment) Batch(ctx context.Context, i Infrastructure, n int) (b Batch, err error) {
	b.Machines = n
	provision, err := i.Prepare(ctx, n)
	if err != nil {
		return b, err
	}
	if err := e.Rest(ctx, i); err != nil {
		return b, err
	}
	b.Cost, err = e.During(ctx, i, func() error {
		began := time.Now()
		if err := provision(ctx); err != nil {
			return err
		}
		b.Seconds = time.Since(began).Seconds()
		e.Progressf("%d machines are ready after %.1f s", n, b.Seconds)
		return e.Rest(ctx, i)
	})
	if err != nil {
		return b, err
	}
	b.RSS, b.Peak, err = e.Memory()
	return b, err
}
