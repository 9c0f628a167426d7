// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storm makes and deletes machines while the provider's manager is killed at
// random moments, and judges what became of them by the outside system and by the
// objects: nothing may be lost, doubled, misplaced or left behind. The manager is the
// real program against a real API server; the outside system is simulated, and
// disobeys in one way or another. What is random is drawn from a seed.
package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// Options say which storm.
type Options struct {
	// Provider is the one whose manager is killed.
	Provider provider.InStorm
	// Kills is how often the manager is killed in each mode.
	Kills int
	// Seed is what the storm is drawn from; 0 draws one.
	Seed uint64
	// Mode is how the outside system behaves; "" is every way in turn.
	Mode string
	// APIServer has the names of the faults that the API server has for the manager, with commas between them; "" for none.
	APIServer string
	// Machines is about how many there are at a time.
	Machines int
	// Clusters is how many come and go in SoakMode.
	Clusters int
	// Out receives a line for some kills, and one for each mode.
	Out io.Writer
	// Progress receives a line for each thing that takes time before the first kill.
	Progress io.Writer
}

// The numbers of make storm.
const (
	DefaultKills    = 200
	DefaultMachines = 12
)

// Run goes through the modes. Its error lists every fault that was found.
func Run(ctx context.Context, options Options) error {
	modes, err := options.check()
	if err != nil {
		return err
	}
	installation, dir, err := options.install(ctx)
	if err != nil {
		return err
	}
	if options.Seed == 0 {
		options.Seed = uint64(rand.Uint32()) + 1 // short enough to be typed
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
			return errors.Join(context.Cause(ctx), os.RemoveAll(dir)) // Interrupted before there was anything to tell.
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w\nagain with SEED=%d (logs: %s)", errors.Join(failed...), options.Seed, dir)
	}
	return os.RemoveAll(dir)
}

// behaving describes the API server.
func behaving(as string) string {
	if as == "" {
		return ""
	}
	return ", API server " + as
}

// install builds what a storm runs, without logs of this process, and makes a folder for its logs.
func (o Options) install(ctx context.Context) (*provider.Installation, string, error) {
	ctrl.SetLogger(logr.Discard())
	installation, err := provider.Install(ctx, o.Provider, o.Progress)
	if err != nil {
		return nil, "", err
	}
	dir, err := folder()
	return installation, dir, err
}

// folder makes one for the logs.
func folder() (string, error) {
	dir, err := os.MkdirTemp("", "faultline-storm-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the storm: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

// check looks up the modes, and completes what has a default.
func (o *Options) check() ([]provider.Mode, error) {
	if o.Kills == 0 {
		o.Kills = DefaultKills
	}
	if o.Machines == 0 {
		o.Machines = DefaultMachines
	}
	if o.Kills < 1 || o.Machines < 1 {
		return nil, fmt.Errorf("the numbers of kills and of machines are to be 1 or more, not %d and %d", o.Kills, o.Machines)
	}
	if _, err := managementcluster.Disobey(o.APIServer); err != nil {
		return nil, err
	}
	modes := o.Provider.Modes()
	if o.Mode == "" {
		return modes, nil
	}
	i := slices.IndexFunc(modes, func(mode provider.Mode) bool { return mode.Name == o.Mode })
	if i < 0 {
		return nil, fmt.Errorf("there is no mode %q for provider %s; there are:\n%s", o.Mode, o.Provider.Describe().Name, describe(modes))
	}
	return modes[i : i+1], nil
}

// describe lists modes with what they are.
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
