// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/shared/ports"
)

const (
	// SoakMode makes clusters come and go instead of killing the manager.
	SoakMode = "soak"
	// DefaultClusters is the default number of clusters.
	DefaultClusters = 20

	// atOnce is the number of clusters at a time.
	atOnce = 8
	// guestLimit bounds how long a cluster takes to become ready and to be deleted.
	guestLimit = 4 * time.Minute
	// returnLimit bounds how long resources may be kept after their last use: client-go keeps events for up to 12 minutes.
	returnLimit = 15 * time.Minute
	returnEvery = 5 * time.Second

	// moreGoroutines and moreHeap are what the manager may have more at the end than at the start, for short-lived connections, for data
	// kept from the last minutes, and for goroutines that have ended: the runtime keeps half a KiB of each for the next one. For 500
	// clusters this is a tenth of a goroutine and 8 KiB each.
	moreGoroutines = 40
	moreHeap       = 4 << 20
	// stayOpen is the maximum number of watches of the infrastructure that the warm-up opens for good, as the first of its kind.
	stayOpen = 8
	// Before the measurement, 1/warmUp as many clusters come and go. They fill caches that have a limit: strings and labels that objects
	// share (4 and 8 MiB).
	warmUp = 5
)

// footprint holds the resources of an idle manager.
type footprint struct {
	goroutines, watches, outside int
	heap                         int64 // in bytes, after garbage collection
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %.1f MiB of heap, %d watches of the API server, %d watches or sessions of the infrastructure",
		f.goroutines, float64(f.heap)/(1<<20), f.watches, f.outside)
}

// above returns an error if the footprint exceeds that at the start by more than the tolerance.
func (f footprint) above(start footprint) error {
	var more []error
	if f.goroutines > start.goroutines+moreGoroutines {
		more = append(more, fmt.Errorf("%d goroutines are left, more than %d", f.goroutines-start.goroutines, moreGoroutines))
	}
	if f.heap > start.heap+moreHeap {
		more = append(more, fmt.Errorf("%d KiB of heap are left, more than %d", (f.heap-start.heap)>>10, moreHeap>>10))
	}
	if f.watches > start.watches {
		more = append(more, fmt.Errorf("%d watches of the API server are left", f.watches-start.watches))
	}
	return errors.Join(append(more, f.outsideAbove(start))...)
}

// outsideAbove returns an error if there are more watches or sessions of the infrastructure than at the start.
func (f footprint) outsideAbove(start footprint) error {
	if f.outside > start.outside {
		return fmt.Errorf("%d watches or sessions of the infrastructure are left", f.outside-start.outside)
	}
	return nil
}

// soak is a run of SoakMode.
type soak struct {
	*run

	profiler string
}

// soakManager runs SoakMode. It fails if the manager keeps resources of deleted clusters.
func soakManager(ctx context.Context, options Options) error {
	if options.Clusters < 1 {
		return fmt.Errorf("the number of clusters must be 1 or more, not %d", options.Clusters)
	}
	options.Mode, options.Machines, options.Seed = options.Provider.Modes()[0].Name, DefaultMachines, 1
	installation, dir, err := options.install(ctx)
	if err != nil {
		return err
	}
	s := &soak{run: &run{options: options, mode: options.Provider.Modes()[0], installation: installation, dir: dir, apiServer: &managementcluster.APIServerFaults{}}}
	return keepLogs(s.all(ctx), dir)
}

func (s *soak) all(ctx context.Context) error {
	defer s.stop()
	port, err := ports.Reserve(1)
	if err != nil {
		return err
	}
	defer port.Release()
	s.profiler = ports.Host + ":" + strconv.Itoa(port.First)
	if err := s.begin(ctx, "--profiler-address="+s.profiler); err != nil {
		return err
	}
	return errors.Join(s.compare(ctx), s.management.Err())
}

// compare compares the manager's footprint before and after clusters come and go.
func (s *soak) compare(ctx context.Context) error {
	idle, err := s.measure(ctx)
	if err != nil {
		return err
	}
	// The warm-up also creates the informers that stay. What it opened outside must be closed before the start is measured.
	if err := s.guests(ctx, "warm", (s.options.Clusters+warmUp-1)/warmUp); err != nil {
		return err
	}
	idle.outside += stayOpen
	start, err := s.returned(ctx, func(f footprint) error { return f.outsideAbove(idle) })
	s.options.printf("%s: before: %s", SoakMode, start)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.guests(ctx, "soak", s.options.Clusters); err != nil {
		return err
	}
	end, err := s.measure(ctx)
	if err != nil {
		return err
	}
	s.options.printf("%s: after %d clusters, %.0f s: %s", SoakMode, s.options.Clusters, time.Since(began).Seconds(), end)
	began = time.Now()
	end, err = s.returned(ctx, func(f footprint) error { return f.above(start) })
	s.options.printf("%s: %.0f s later: %s", SoakMode, time.Since(began).Seconds(), end)
	return err
}

// returned measures until above returns nil, and returns its last error after returnLimit.
func (s *soak) returned(ctx context.Context, above func(footprint) error) (footprint, error) {
	for deadline := time.Now().Add(returnLimit); ; {
		is, err := s.measure(ctx)
		if err != nil {
			return is, err
		}
		if err := above(is); err == nil || time.Now().After(deadline) {
			return is, err
		}
		if err := provider.Pause(ctx, returnEvery); err != nil {
			return is, err
		}
	}
}

// guests creates and deletes clusters.
func (s *soak) guests(ctx context.Context, prefix string, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var gone atomic.Int64
	for i := range count {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.createAndDelete(ctx, fmt.Sprintf("%s-%04d", prefix, i)); err != nil {
				return err
			}
			if n := gone.Add(1); n%100 == 0 {
				s.options.printf("%s: %d clusters were created and deleted", SoakMode, n)
			}
			return nil
		})
	}
	return group.Wait()
}

// createAndDelete creates a cluster with a machine, waits until the machine is provisioned, and deletes everything in Cluster
// API's order.
func (s *soak) createAndDelete(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, guestLimit, fmt.Errorf("not done after %s", guestLimit))
	defer cancel()
	guest, err := s.infrastructure.Add(ctx, name)
	if err != nil {
		return fmt.Errorf("adding cluster %s: %w", name, err)
	}
	machine := name + "-m"
	meta, err := guest.CreateMachine(ctx, s.client, machine, guest.Domain)
	if err != nil {
		return err
	}
	infra := s.infrastructure.Machine(meta)
	if err := provider.Create(ctx, s.client, infra); err != nil {
		return err
	}
	if err := s.provisioned(ctx, infra); err != nil {
		return err
	}
	owner, data := guest.Machine(machine, guest.Domain)
	for _, object := range []client.Object{infra, owner, data, guest.Infrastructure} {
		if err := provider.Delete(ctx, s.client, object); err != nil {
			return err
		}
	}
	if err := s.infrastructure.Remove(ctx, name); err != nil {
		return fmt.Errorf("removing the resources of cluster %s: %w", name, err)
	}
	for _, object := range []client.Object{&clusterv1.Cluster{ObjectMeta: guest.Meta(name)}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}} {
		if err := provider.Delete(ctx, s.client, object); err != nil {
			return err
		}
	}
	return nil
}

// provisioned waits until the provider has provisioned a machine.
func (s *soak) provisioned(ctx context.Context, machine client.Object) error {
	return provider.Await(ctx, s.client, machine.(provider.WithConditions), "machine "+machine.GetName()+" to be provisioned", func() bool {
		is, err := runtime.DefaultUnstructuredConverter.ToUnstructured(machine)
		provisioned, _, _ := unstructured.NestedBool(is, "status", "initialization", "provisioned")
		return err == nil && provisioned
	})
}

// measure makes the manager collect garbage, and returns its footprint.
func (s *soak) measure(ctx context.Context) (f footprint, err error) {
	var heap int64
	for range 2 { // objects with a finalizer are freed by the second run
		err := managementcluster.Read(ctx, "http://"+s.profiler+"/debug/pprof/heap?gc=1&debug=1", func(profile io.Reader) (err error) {
			heap, err = heapAfterCollection(profile)
			return err
		})
		if err != nil {
			return f, fmt.Errorf("triggering garbage collection in the manager: %w", err)
		}
	}
	process, err := s.management.Process(s.manager())
	if err != nil {
		return f, err
	}
	goroutines, err := process.Gauge(ctx, "go_goroutines")
	return footprint{goroutines: int(goroutines), heap: heap, watches: s.apiServer.Watches(), outside: s.infrastructure.Open()}, err
}

// heapAfterCollection returns the bytes of allocated objects from a heap profile with debug=1. The runtime counts them right after garbage
// collection. The metrics would also count the garbage of writing the profile: some MiB, and more the longer the manager has run.
func heapAfterCollection(profile io.Reader) (heap int64, err error) {
	found := false
	for lines := bufio.NewScanner(profile); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
			found = true
			heap, err = strconv.ParseInt(text, 10, 64)
		}
	}
	if !found {
		return 0, errors.New("the heap profile does not contain HeapAlloc")
	}
	return heap, err
}
