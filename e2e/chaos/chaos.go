// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos injects faults while a provider's manager works and is killed at random moments, and then checks machines against the
// outside system and the objects. In the modes of the outside system, machines are created and deleted, and none may be lost, duplicated,
// misplaced or left behind. In SoakMode, clusters come and go, and the manager may keep nothing of them. In RebalanceMode, machines of
// control planes are moved between failure domains by Cluster API's real managers, and the history of each control plane is checked. The
// manager is the real program against a real API server; the outside system is simulated and misbehaves in the way of the mode. Random
// decisions are drawn from a seed.
package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// Options select a run.
type Options struct {
	// Provider is the provider whose manager is killed.
	Provider provider.ChaosProvider
	// Mode is a behavior of the outside system, RebalanceMode or SoakMode; "" runs every behavior of the outside system in turn.
	Mode string
	// Seed is the seed of random decisions; 0 draws one.
	Seed uint64
	// APIServer names the faults that the API server injects for the manager, separated by commas; "" means none.
	APIServer string
	// Kills is the number of kills in each mode, and Machines the approximate number of machines at a time.
	Kills, Machines int
	// Clusters is the number of clusters that come and go in SoakMode.
	Clusters int
	// Seeds is the number of control planes in RebalanceMode, with consecutive seeds starting at Seed, and AtOnce how many run at a time.
	Seeds, AtOnce int
	// ControlPlane is the kind of these control planes, one of ControlPlaneNames; "" means DefaultControlPlane.
	ControlPlane string
	// Out receives a line for some kills, for each mode and for each control plane. Progress receives a line for each step that takes
	// time before the first kill.
	Out, Progress io.Writer
}

// RebalanceMode moves machines of control planes instead of creating and deleting machines.
const RebalanceMode = "rebalance"

// readyLimit bounds the start of a manager on a busy machine.
const readyLimit = 2 * time.Minute

// Defaults of `make storm`.
const (
	DefaultKills    = 200
	DefaultMachines = 12
	DefaultSeeds    = 200
	DefaultAtOnce   = 16
)

// Run runs the chaos test. Its error lists every fault that was found.
func Run(ctx context.Context, options Options) error {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if options.Seed == 0 {
		options.Seed = uint64(rand.Uint32()) + 1 // short enough to be typed
	}
	switch options.Mode {
	case SoakMode:
		return soakManager(ctx, options)
	case RebalanceMode:
		return rebalance(ctx, options)
	}
	if cmp.Or(options.ControlPlane, DefaultControlPlane) != DefaultControlPlane {
		return fmt.Errorf("control planes of %s are for mode %s", options.ControlPlane, RebalanceMode)
	}
	return killInEachMode(ctx, options)
}

// killInEachMode runs every selected behavior of the outside system.
func killInEachMode(ctx context.Context, options Options) error {
	modes, err := options.check()
	if err != nil {
		return err
	}
	installation, dir, err := options.install(ctx)
	if err != nil {
		return err
	}
	options.printf("seed %d: %d kills of the manager of %s in each mode, about %d machines at a time%s",
		options.Seed, options.Kills, options.Provider.Describe().Name, options.Machines, behaving(options.APIServer))
	var failed []error
	for _, mode := range modes {
		r := &run{
			options: options, mode: mode, installation: installation, dir: filepath.Join(dir, mode.Name),
			random: provider.Random(options.Seed, mode.Name),
		}
		if err := r.all(ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", mode.Name, err))
		}
		if ctx.Err() != nil && len(failed) == 1 && len(r.faults) == 0 {
			return errors.Join(context.Cause(ctx), os.RemoveAll(dir)) // Interrupted before there was anything to report.
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) > 0 {
		err = fmt.Errorf("%w\n%s", errors.Join(failed...), options.repeat(fmt.Sprintf("SEED=%d", options.Seed)))
	}
	return keepLogs(err, dir)
}

// keepLogs removes the logs of a run without an error, and adds their folder to an error.
func keepLogs(err error, dir string) error {
	if err != nil {
		return fmt.Errorf("%w\n(logs: %s)", err, dir)
	}
	return os.RemoveAll(dir)
}

// repeat returns how to run the same again, with the variables of one part of the run.
func (o *Options) repeat(variables string) string {
	command := "repeat it with make storm PROVIDER=" + o.Provider.Describe().Name
	for _, v := range []struct{ name, value string }{{"MODE", o.Mode}, {"CONTROL_PLANE", o.ControlPlane}, {"API_SERVER", o.APIServer}} {
		if v.value != "" {
			command += " " + v.name + "=" + v.value
		}
	}
	return command + " " + variables
}

// behaving describes the faults of the API server.
func behaving(as string) string {
	if as == "" {
		return ""
	}
	return ", API server " + as
}

// install builds the programs of a run, and creates a folder for its logs.
func (o *Options) install(ctx context.Context) (*provider.Installation, string, error) {
	installation, err := provider.Install(ctx, o.Provider, o.Progress)
	if err != nil {
		return nil, "", err
	}
	dir, err := provider.LogFolder("storm")
	return installation, dir, err
}

// restart restarts a killed manager and waits until it is ready.
func restart(ctx context.Context, management *managementcluster.Cluster, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not ready after %s", readyLimit))
	defer cancel()
	ready, err := management.Restart(ctx, name)
	if err != nil {
		return err
	}
	return ready(ctx)
}

// check returns the selected modes.
func (o *Options) check() ([]provider.Mode, error) {
	if o.Kills < 1 || o.Machines < 1 {
		return nil, fmt.Errorf("the numbers of kills and of machines must be 1 or more, not %d and %d", o.Kills, o.Machines)
	}
	if _, err := managementcluster.NewAPIServerFaults(o.APIServer); err != nil {
		return nil, err
	}
	modes := o.Provider.Modes()
	if o.Mode == "" {
		return modes, nil
	}
	i := slices.IndexFunc(modes, func(mode provider.Mode) bool { return mode.Name == o.Mode })
	if i < 0 {
		return nil, fmt.Errorf("unknown mode %q for provider %s: must be one of:\n%s", o.Mode, o.Provider.Describe().Name, describe(modes))
	}
	return modes[i : i+1], nil
}

// describe lists modes with their descriptions.
func describe(modes []provider.Mode) string {
	var text strings.Builder
	for _, mode := range modes {
		fmt.Fprintf(&text, "  %-12s %s\n", mode.Name, mode.Is)
	}
	return strings.TrimRight(text.String(), "\n")
}

func (o *Options) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
}
