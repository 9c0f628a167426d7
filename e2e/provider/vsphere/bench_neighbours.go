// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// neighbourVMs is how many VMs each of two vCenters gets, and neighbourDelay how
	// late every answer of the slow one is.
	neighbourVMs   = 20
	neighbourDelay = 2 * time.Second
	// rounds is how often that is done. The times are the medians: on a machine that
	// does something else too, a single one says little.
	rounds = 3
)

// vcenters are how late every answer of some vCenters is, by name.
type vcenters map[string]time.Duration

// neighbours makes VMs on several vCenters at the same time, some rounds of them,
// and answers for each vCenter the seconds until its VMs of a round were ready.
func (l scenario) neighbours(ctx context.Context, delays vcenters) (map[string][]float64, error) {
	setups := map[string]*vsphereSetup{}
	for name, delay := range delays {
		w, err := l.setUp(ctx, name)
		if err != nil {
			return nil, err
		}
		w.vcenter.SetDelay(delay)
		setups[name] = w
	}
	for _, w := range setups {
		if _, err := l.connected(ctx, w); err != nil {
			return nil, err
		}
	}
	times := map[string][]float64{}
	for range rounds {
		if err := l.round(ctx, setups, times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// round adds a time for each of the setups.
func (l scenario) round(ctx context.Context, setups map[string]*vsphereSetup, times map[string][]float64) error {
	prepared := map[string]machines{}
	for name, w := range setups {
		var err error
		if prepared[name], err = w.prepare(ctx, neighbourVMs); err != nil {
			return err
		}
		if err := l.Rest(ctx, w); err != nil {
			return err
		}
	}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for name, w := range setups {
		group.Go(func() error {
			ready, err := w.provision(ctx, prepared[name])
			if err != nil {
				return fmt.Errorf("vCenter %s: %w", name, err)
			}
			l.Progressf("%d VMs of the %s vCenter ready after %.1f s", neighbourVMs, name, ready.Seconds())
			mutex.Lock()
			defer mutex.Unlock()
			times[name] = append(times[name], ready.Seconds())
			return nil
		})
	}
	return group.Wait()
}
