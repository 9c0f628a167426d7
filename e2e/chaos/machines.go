// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// mostAtOnce is the maximum number of machines that are created or deleted between two kills.
const mostAtOnce = 3

// act creates or deletes some machines.
func (r *run) act(ctx context.Context) error {
	for range 1 + r.random.IntN(mostAtOnce) {
		live := r.live()
		// Below half of the limit it creates, at the limit it deletes, in between it does either.
		makes := len(live) < r.options.Machines/2 || len(live) < r.options.Machines && r.random.IntN(2) == 0
		act := r.deleteOne
		if makes {
			act = r.makeOne
		}
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// live returns the names of the machines that have not been deleted.
func (r *run) live() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.members)) {
		if !r.members[name].deleting {
			names = append(names, name)
		}
	}
	return names
}

func (r *run) makeOne(ctx context.Context) error {
	domains := slices.DeleteFunc(slices.Clone(r.infrastructure.Domains()), r.full)
	m := &member{name: fmt.Sprintf("m-%04d", r.made), domain: domains[r.random.IntN(len(domains))]}
	meta, err := r.infrastructure.Cluster().CreateMachine(ctx, r.client, m.name, m.domain)
	if err != nil {
		return err
	}
	if err := r.client.Create(ctx, r.infrastructure.Machine(meta)); err != nil {
		return fmt.Errorf("creating machine %s: %w", m.name, err)
	}
	r.members[m.name] = m
	r.made++
	return nil
}

// full reports whether a failure domain has no capacity left.
func (r *run) full(domain string) bool {
	n := 0
	for _, m := range r.members {
		if m.domain == domain && !m.deleting {
			n++
		}
	}
	return n >= capacityFor(r.options.Machines, len(r.infrastructure.Domains()))
}

// capacityFor returns the capacity of each failure domain: slightly more than its share, so that deleted machines sometimes block
// new ones.
func capacityFor(machines, domains int) int { return machines/domains + 1 }

func (r *run) deleteOne(ctx context.Context) error {
	live := r.live()
	if len(live) == 0 {
		return nil
	}
	return r.delete(ctx, live[r.random.IntN(len(live))])
}

func (r *run) deleteSome(ctx context.Context) error {
	for range 1 + r.random.IntN(mostAtOnce) {
		if err := r.deleteOne(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) deleteAll(ctx context.Context) error {
	for _, name := range r.live() {
		if err := r.delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the infrastructure machine, which Cluster API deletes first. A lost machine does not exist any more, which is recorded
// elsewhere.
func (r *run) delete(ctx context.Context, name string) error {
	object := r.infrastructure.Machine(metav1.ObjectMeta{Namespace: r.infrastructure.Cluster().Name, Name: name})
	if err := r.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting machine %s: %w", name, err)
	}
	r.members[name].deleting = true
	r.deleted++
	return nil
}

// sweep deletes the Machines and the bootstrap data of deleted machines.
func (r *run) sweep(ctx context.Context, s provider.Snapshot) error {
	for name, m := range r.members {
		if _, exists := s.Machines[name]; exists || m.gone || !m.deleting {
			continue
		}
		machine, data := r.infrastructure.Cluster().Machine(name, m.domain)
		for _, object := range []client.Object{machine, data} {
			if err := r.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting %T %s: %w", object, name, err)
			}
		}
		m.gone = true
	}
	return nil
}
