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
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/shared/machines"
)

// controlPlaneKind is what differs between the kinds of control planes.
type controlPlaneKind struct {
	machines.ControlPlaneKind
	// flavor ends the flavor of the templates; "" if no flavor names the kind.
	flavor string
	// upgraded is the version in its spec after an upgrade. No program of that version is run.
	upgraded string
	// pauseReported is true if it has a condition that reports a pause.
	pauseReported bool
	// add adds its managers; nil if Cluster API has them.
	add func(*environment.Options) (sources string, err error)
}

// DefaultControlPlane is the kind of control planes in RebalanceMode if none is named.
const DefaultControlPlane = "kubeadm"

// controlPlaneKinds returns the kinds by the names of their providers.
func controlPlaneKinds() map[string]controlPlaneKind {
	return map[string]controlPlaneKind{
		DefaultControlPlane: {ControlPlaneKind: machines.Kubeadm{}, upgraded: "v1.36.99", pauseReported: true},
		"rke2":              {ControlPlaneKind: machines.RKE2{}, flavor: "rke2", upgraded: "v1.36.99+rke2r1", add: environment.AddRKE2},
	}
}

// ControlPlaneNames returns the names of the kinds of control planes.
func ControlPlaneNames() []string { return sortedKeys(controlPlaneKinds()) }

// rollsOut reports whether the kind has a field to replace all machines.
func (k controlPlaneKind) rollsOut() bool { return k.Facts().RolloutAfter != nil }

// restartPause is the minimum time between a restart of the manager and the next kill. All control planes share it.
const restartPause = 3 * time.Second

// commonEnvironment is the management cluster of all control planes.
type commonEnvironment struct {
	*environment.Environment
	about     provider.Description
	kind      controlPlaneKind
	template  string
	sites     provider.MultiCluster
	apiServer *managementcluster.APIServerFaults // nil if the API server injects no faults
	recorders sync.Map                           // by namespace

	mu    sync.Mutex // held while the manager is down
	ready time.Time
	kills int
}

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
	g := &commonEnvironment{about: sited.Describe(), kind: kind}
	with := environment.Options{Provider: sited, Progress: options.Progress}
	with.Infrastructure = func(programs string) (_ provider.Infrastructure, err error) {
		g.sites, err = sited.MultiCluster(programs)
		return g.sites, err
	}
	if kind.add != nil {
		if _, err := kind.add(&with); err != nil {
			return err
		}
	}
	var err error
	if g.apiServer, err = managementcluster.NewAPIServerFaults(options.APIServer); err != nil {
		return err
	}
	with.APIServer = g.apiServer
	if with.Dir, err = provider.LogFolder(RebalanceMode); err != nil {
		return err
	}
	options.printf("seeds %d to %d of %s, %d at a time", options.Seed, options.Seed+uint64(options.Seeds)-1, kind.Facts().Kind.Kind, options.AtOnce)
	return keepLogs(options.rebalanceIn(ctx, g, with), with.Dir)
}

// rebalanceIn starts the environment and runs all seeds in it.
func (o *Options) rebalanceIn(ctx context.Context, g *commonEnvironment, with environment.Options) (err error) {
	if g.Environment, err = environment.New(ctx, with); err != nil {
		return err
	}
	defer g.Close()
	if ctx, err = g.Start(ctx); err != nil {
		return err
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	failed := make([]error, o.Seeds)
	var mu sync.Mutex
	var sum counts
	passed := 0
	workqueue.ParallelizeUntil(ctx, o.AtOnce, o.Seeds, func(i int) {
		is := g.run(ctx, draw(o.Seed+uint64(i), g.kind)) //nolint:gosec // i is not negative.
		mu.Lock()
		defer mu.Unlock()
		count := is.history.count(func(moment) bool { return true })
		sum = counts{sum.moves + count.moves, sum.aborted + count.aborted, sum.rollouts + count.rollouts}
		o.printf("seed %d: %s: %s, %d faults, %.0f s", is.seed, is.script, count, len(is.faults), is.took.Seconds())
		if failed[i] = o.report(is, with.Dir); failed[i] == nil {
			passed++
		}
	})
	if g.apiServer != nil {
		o.printf("API server %s: %s", o.APIServer, g.apiServer.Highest())
		failed = append(failed, g.apiServer.Highest().TooMany()) // or nil
	}
	o.printf("%d of %d seeds without a fault; %s; the manager was killed %d times", passed, o.Seeds, sum, g.kills)
	return errors.Join(errors.Join(failed...), context.Cause(ctx))
}

// report prints the faults of a seed and stores its history, if there are faults.
func (o *Options) report(is outcome, dir string) error {
	if len(is.faults) == 0 {
		return nil
	}
	var text strings.Builder
	for _, m := range is.history {
		fmt.Fprintln(&text, m)
	}
	for _, line := range is.machines {
		fmt.Fprintln(&text, line)
	}
	for _, fault := range is.faults {
		o.printf("seed %d: %s", is.seed, fault)
	}
	return errors.Join(
		fmt.Errorf("seed %d: %s\n%s", is.seed, strings.Join(is.faults, "\n"), o.repeat(fmt.Sprintf("SEEDS=1 SEED=%d", is.seed))),
		os.WriteFile(filepath.Join(dir, is.name()+".txt"), []byte(text.String()), 0o600),
	)
}

func (c counts) String() string {
	return fmt.Sprintf("%d moves, %d aborted, %d rollouts", c.moves, c.aborted, c.rollouts)
}

// prepare begins what all control planes share: the infrastructure, the records and the faults of the API server.
func (g *commonEnvironment) prepare(ctx context.Context) error {
	flavor := strings.Trim(g.about.ExternalEndpoint+"-"+g.kind.flavor, "-")
	g.template = filepath.Join(g.Root, "templates", g.about.Name, g.about.Template(flavor))
	if _, err := os.Stat(g.template); err != nil {
		return fmt.Errorf("finding the template of provider %s for %s: %w", g.about.Name, g.kind.Facts().Kind.Kind, err)
	}
	if err := g.record(ctx); err != nil {
		return err
	}
	return g.apiServer.Set(ctx, true)
}

// kill kills the provider's manager and restarts it, unless it was restarted only recently. It reports whether it did.
func (g *commonEnvironment) kill(ctx context.Context) (bool, error) {
	if !g.mu.TryLock() {
		return false, nil
	}
	defer g.mu.Unlock()
	if time.Since(g.ready) < restartPause {
		return false, nil
	}
	name := binaries.Provider(g.about.Name)
	if err := g.Management.Kill(name); err != nil {
		return false, err
	}
	g.kills++
	err := restart(ctx, g.Management, name)
	g.ready = time.Now()
	return true, err
}
