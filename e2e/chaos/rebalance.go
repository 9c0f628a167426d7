// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

// rebalance runs all seeds. Its error lists every fault that was found.
func rebalance(ctx context.Context, options Options) error {
	sited, ok := options.Provider.(provider.RebalanceProvider)
	if !ok {
		return fmt.Errorf("provider %s does not support failure domains for several clusters at a time: choose PROVIDER=%s",
			options.Provider.Describe().Name, strings.Join(all.Names[provider.RebalanceProvider](), " or PROVIDER="))
	}
	if options.Seeds < 1 || options.AtOnce < 1 {
		return fmt.Errorf("the numbers of seeds and of concurrent seeds must be 1 or more, not %d and %d", options.Seeds, options.AtOnce)
	}
	kind, ok := controlPlaneKinds()[cmp.Or(options.ControlPlane, DefaultControlPlane)]
	if !ok {
		return fmt.Errorf("unknown control plane %q: must be %s", options.ControlPlane, strings.Join(ControlPlaneNames(), " or "))
	}
	with := environment.Options{Progress: options.Progress}
	g := &commonEnvironment{about: sited.Describe(), kind: kind}
	var err error
	if err = kind.addTo(&with); err != nil {
		return err
	}
	if g.apiServer, err = managementcluster.NewAPIServerFaults(options.APIServer); err != nil {
		return err
	}
	if with.Dir, err = provider.LogFolder(RebalanceMode); err != nil {
		return err
	}
	options.printf("seeds %d to %d of %s, %d at a time", options.Seed, options.Seed+uint64(options.Seeds)-1, kind.Facts().Kind.Kind, options.AtOnce)
	ctx, err = g.prepare(ctx, sited, with)
	defer g.Close()
	if err != nil {
		return err
	}
	failed := options.runAll(ctx, g, with.Dir)
	if err := errors.Join(failed, context.Cause(ctx)); err != nil {
		return fmt.Errorf("%w\n(histories and logs: %s)", err, with.Dir)
	}
	return os.RemoveAll(with.Dir)
}

// results holds the results of all seeds.
type results struct {
	mu     sync.Mutex
	failed []error
	passed int
	sum    counts
}

func (o *Options) runAll(ctx context.Context, g *commonEnvironment, dir string) error {
	var r results
	var group errgroup.Group
	group.SetLimit(o.AtOnce)
	for i := range o.Seeds {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if ctx.Err() == nil {
				o.record(&r, g.run(ctx, draw(o.Seed+uint64(i), g.kind)), dir) //nolint:gosec // i is not negative.
			}
			return nil
		})
	}
	_ = group.Wait()
	if g.apiServer != nil {
		o.printf("API server %s: %s", o.APIServer, g.apiServer.Highest())
		r.failed = append(r.failed, g.apiServer.Highest().TooMany()) // or nil
	}
	o.printf("%d of %d seeds without a fault; %s; the manager was killed %d times", r.passed, o.Seeds, r.sum, g.kills)
	return errors.Join(r.failed...)
}

// record counts an outcome, and stores the history of an outcome with faults.
func (o *Options) record(r *results, is outcome, dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	faults := is.faults
	if is.err != nil {
		faults = append(faults, is.err.Error())
	}
	count := countsOf(is.history)
	r.sum.add(count)
	o.printf("seed %d: %s: %s, %d faults, %.0f s", is.seed, is.script, count, len(faults), is.took.Seconds())
	if len(faults) == 0 {
		r.passed++
		return
	}
	for _, fault := range faults {
		o.printf("seed %d: %s", is.seed, fault)
	}
	r.failed = append(r.failed, fmt.Errorf("seed %d: %s\n%s", is.seed, strings.Join(faults, "\n"), o.repeat(fmt.Sprintf("SEEDS=1 SEED=%d", is.seed))))
	var text strings.Builder
	for _, m := range is.history {
		fmt.Fprintln(&text, m)
	}
	for _, line := range is.machines {
		fmt.Fprintln(&text, line)
	}
	if err := os.WriteFile(filepath.Join(dir, is.name()+".txt"), []byte(text.String()), 0o600); err != nil {
		o.printf("seed %d: %s", is.seed, err)
	}
}

// String describes the control plane and the steps.
func (s script) String() string {
	var acts []string
	for _, step := range s.steps {
		acts = append(acts, step.String())
	}
	return fmt.Sprintf("%s, %d machines, %d failure domains: %s", s.mode, s.replicas, s.domains, strings.Join(acts, ", "))
}

// counts holds the numbers of moves, aborted moves and rollouts in a history.
type counts struct{ moves, aborted, rollouts int }

func countsOf(h history) counts {
	var c counts
	for i := range h {
		if h.begins(i) {
			c.moves++
		}
		if h.rollsOut(i) {
			c.rollouts++
		}
		if i > 0 && h[i].move != nil && h[i].move.Aborting != "" && h[i-1].move != nil && h[i-1].move.Aborting == "" {
			c.aborted++
		}
	}
	return c
}

func (c *counts) add(other counts) {
	c.moves += other.moves
	c.aborted += other.aborted
	c.rollouts += other.rollouts
}

func (c counts) String() string {
	return fmt.Sprintf("%d moves, %d aborted, %d rollouts", c.moves, c.aborted, c.rollouts)
}
