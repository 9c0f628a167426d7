// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package ipam_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// operation is a claim or a release as seen by the client. The result of a claim is known when it has returned.
type operation struct {
	claims bool
	id     string
	ip     netip.Addr
}

// oneHolder checks that a claimed address was free or the holder's own, and that it is free after the release.
func oneHolder() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return partitioned(history, func(a operation) netip.Addr { return a.ip })
		},
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			holder, is := state.(string), input.(operation)
			switch {
			case is.claims:
				return holder == "" || holder == is.id, is.id
			case holder == is.id:
				return true, ""
			}
			return true, holder
		},
	}
}

// oneAddress checks that claims of a holder return the same address until it releases it.
func oneAddress() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return partitioned(history, func(a operation) string { return a.id })
		},
		Init: func() any { return netip.Addr{} },
		Step: func(state, input, _ any) (bool, any) {
			has, is := state.(netip.Addr), input.(operation)
			if !is.claims {
				return true, netip.Addr{}
			}
			return !has.IsValid() || has == is.ip, is.ip
		},
	}
}

func partitioned[K comparable](history []porcupine.Operation, by func(operation) K) [][]porcupine.Operation {
	parts := map[K][]porcupine.Operation{}
	for _, o := range history {
		key := by(o.Input.(operation))
		parts[key] = append(parts[key], o)
	}
	return slices.Collect(maps.Values(parts))
}

// observer watches all stored versions of a pool in order.
type observer struct {
	t      *testing.T
	pool   string
	events watch.Interface
	ended  chan struct{}
	// found has the holders that had two addresses at once. It is complete after end.
	found map[string]string
}

// follow starts to watch for holders with two addresses. All holders are either in blocks, which are of one kind, so that the order of
// writes is known, or in the pool.
func follow(t *testing.T, pool string, inBlocks bool) *observer {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: api.Scheme(), Mapper: api.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	w := &observer{t: t, pool: pool, ended: make(chan struct{}), found: map[string]string{}}
	var kind client.ObjectList = &lbv1.IPPoolList{}
	var of client.ListOption = client.MatchingFields{"metadata.name": pool}
	if inBlocks {
		kind, of = &lbv1.IPPoolBlockList{}, allocation.BlocksOf(pool)
	}
	if err := c.List(t.Context(), kind, of); err != nil {
		t.Fatal(err)
	}
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: kind.GetResourceVersion()}}
	if w.events, err = c.Watch(t.Context(), kind, since, of); err != nil {
		t.Fatal(err)
	}
	go w.observe()
	return w
}

func (w *observer) observe() {
	defer close(w.ended)
	stored := map[string]map[string]string{}
	for event := range w.events.ResultChan() {
		switch o := event.Object.(type) {
		case *lbv1.IPPool:
			stored[o.Name] = o.Status.Allocated
		case *lbv1.IPPoolBlock:
			stored[o.Name] = o.Allocated
		}
		object, ok := event.Object.(client.Object)
		if !ok {
			w.t.Errorf("watching is over: %v", event.Object)
			return
		}
		if event.Type == watch.Deleted {
			delete(stored, object.GetName())
		}
		if object.GetAnnotations()[endAnnotation] != "" {
			return
		}
		for id, has := range several(stored) {
			if w.found[id] == "" {
				w.found[id] = fmt.Sprintf("%s has %v at version %s", id, has, object.GetResourceVersion())
			}
		}
	}
}

// endAnnotation is on the last version that an observer reads.
const endAnnotation = "test/end"

// end returns the holders that had two addresses, once all stored versions have been read.
func (w *observer) end(inBlocks bool) map[string]string {
	w.t.Helper()
	defer w.events.Stop()
	end := map[string]string{endAnnotation: "true"}
	var err error
	if inBlocks {
		last := &lbv1.IPPoolBlock{ObjectMeta: metav1.ObjectMeta{Name: w.pool + "-end", Labels: allocation.BlocksOf(w.pool), Annotations: end}, Pool: "none", First: "none"}
		if err = api.Create(w.t.Context(), last); err == nil {
			err = api.Delete(w.t.Context(), last)
		}
	} else {
		last := object(w.t, w.pool)
		metav1.SetMetaDataAnnotation(&last.ObjectMeta, endAnnotation, "true")
		err = api.Update(w.t.Context(), last)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	<-w.ended
	return w.found
}

// The models must reject invalid histories.
func TestModelsDetectInvalidHistories(t *testing.T) {
	t.Parallel()
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	history := func(acts ...operation) (all []porcupine.Operation) {
		for i, act := range acts {
			all = append(all, porcupine.Operation{Input: act, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		return all
	}
	together := history(operation{true, "x", a}, operation{true, "y", a}, operation{false, "x", a})
	for i := range together {
		together[i].Call, together[i].Return = 0, 9
	}
	for name, tc := range map[string]struct {
		history               []porcupine.Operation
		oneHolder, oneAddress bool
	}{
		"the same again":                      {history(operation{true, "x", a}, operation{true, "x", a}), true, true},
		"one after the other":                 {history(operation{true, "x", a}, operation{false, "x", a}, operation{true, "y", a}), true, true},
		"another one after a release":         {history(operation{true, "x", a}, operation{false, "x", a}, operation{true, "x", b}), true, true},
		"all at once":                         {together, true, true},
		"two have the same":                   {history(operation{true, "x", a}, operation{true, "y", a}), false, true},
		"released by another client":          {history(operation{true, "x", a}, operation{false, "z", a}, operation{true, "y", a}), false, true},
		"one has two":                         {history(operation{true, "x", a}, operation{true, "x", b}), true, false},
		"one has two, and was released early": {history(operation{false, "x", a}, operation{true, "x", a}, operation{true, "x", b}), true, false},
	} {
		if got := porcupine.CheckOperations(oneHolder(), tc.history); got != tc.oneHolder {
			t.Errorf("%s: oneHolder returns %t", name, got)
		}
		if got := porcupine.CheckOperations(oneAddress(), tc.history); got != tc.oneAddress {
			t.Errorf("%s: oneAddress returns %t", name, got)
		}
	}
}
