// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// reportEvery is the number of kills between two lines of output.
	reportEvery = 20
	// clusterName is the name of the cluster and of its namespace in every run.
	clusterName = "storm"
	// settleLimit bounds the wait for a state: a task that failed in vCenter is retried after a minute.
	settleLimit = 4 * time.Minute
	// Most kills come shortly after a request, so that they hit its first steps. One in longOnes comes at any time up to longest, and one
	// in earlyOnes before the manager has started to work.
	shortly   = 200 * time.Millisecond
	longest   = 3 * time.Second
	longOnes  = 4
	earlyOnes = 8
	// One in lastShare kills comes while everything is deleted.
	lastShare = 10
)

// run is a run in one mode.
type run struct {
	options      Options
	mode         provider.Mode
	installation *provider.Installation
	dir          string
	random       *rand.Rand

	management     *managementcluster.Cluster
	client         client.WithWatch
	apiServer      *managementcluster.APIServerFaults // nil if the API server injects no faults
	infrastructure provider.Target
	members        map[string]*member

	// amid counts the kills while a machine was being created or deleted.
	kills, amid, made, deleted int
	faults                     []string
}

// all executes the run from start to end.
func (r *run) all(ctx context.Context) error {
	began := time.Now()
	defer r.stop()
	var err error
	if r.apiServer, err = managementcluster.NewAPIServerFaults(r.options.APIServer); err != nil {
		return err
	}
	if err = r.begin(ctx); err != nil {
		return err
	}
	err = errors.Join(r.runKills(ctx), r.management.Err())
	r.options.printf("%s: %d kills, %d while machines were being created or deleted, %d machines created, %d deleted, %d faults, %.0f s (%s)",
		r.mode.Name, r.kills, r.amid, r.made, r.deleted, len(r.faults), time.Since(began).Seconds(), r.mode.Is)
	if r.apiServer != nil {
		r.options.printf("%s: %s", r.mode.Name, r.apiServer.Highest())
		err = errors.Join(err, r.apiServer.Highest().TooMany())
	}
	if len(r.faults) > 0 {
		err = errors.Join(err, errors.New(strings.Join(r.faults, "\n")))
	}
	return err
}

// begin starts the infrastructure, and the manager with additional arguments.
func (r *run) begin(ctx context.Context, args ...string) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	component := r.installation.Component()
	component.APIServerFaults, component.Args = r.apiServer, append(component.Args, args...)
	var err error
	r.management, err = managementcluster.Start(ctx, managementcluster.Options{Dir: r.dir, Programs: r.installation.Programs, Components: []managementcluster.Component{component}})
	if err != nil {
		return err
	}
	if r.client, err = provider.Connect(r.options.Provider, r.management.RESTConfig); err != nil {
		return err
	}
	r.members = map[string]*member{}
	limited, cancel := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("not done after %s", settleLimit))
	defer cancel()
	r.infrastructure, err = r.mode.NewTarget(limited, provider.TargetOptions{
		Cluster: clusterName, Seed: r.options.Seed, Management: r.management, Client: r.client,
		Programs: r.installation.Assets,
		Capacity: func(domains int) int { return capacityFor(r.options.Machines, domains) },
	})
	return err
}

func (r *run) stop() {
	if r.management != nil {
		r.management.Stop()
	}
	if r.infrastructure != nil {
		r.infrastructure.Close()
	}
}

// runKills creates and deletes machines and kills the manager, then waits until everything has settled and checks it. It then does
// the same while all machines are deleted.
func (r *run) runKills(ctx context.Context) error {
	last := max(r.options.Kills/lastShare, 1)
	if err := r.rounds(ctx, r.options.Kills-last, r.act); err != nil {
		return err
	}
	if err := r.settle(ctx, "after the kills"); err != nil {
		return err
	}
	if err := r.rounds(ctx, r.options.Kills, r.deleteSome); err != nil {
		return err
	}
	if err := r.deleteAll(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx, "after everything was deleted"); err != nil {
		return err
	}
	return r.remains(ctx)
}

// rounds repeats acting and killing the manager for a number of kills. The manager runs before and after.
func (r *run) rounds(ctx context.Context, kills int, act func(context.Context) error) error {
	if err := r.apiServer.Set(ctx, true); err != nil {
		return err
	}
	for r.kills < kills {
		if err := r.infrastructure.Disturb(r.random); err != nil {
			return fmt.Errorf("disturbing the infrastructure: %w", err)
		}
		if err := act(ctx); err != nil {
			return err
		}
		if err := provider.Pause(ctx, r.moment()); err != nil {
			return err
		}
		if err := r.kill(ctx); err != nil {
			return err
		}
		for r.kills < kills && r.random.IntN(earlyOnes) == 0 {
			if err := r.killEarly(ctx); err != nil {
				return err
			}
		}
		if err := restart(ctx, r.management, r.manager()); err != nil {
			return err
		}
	}
	return nil
}

// moment returns how long the manager works before the next kill.
func (r *run) moment() time.Duration {
	if r.random.IntN(longOnes) == 0 {
		return time.Duration(r.random.Int64N(int64(longest)))
	}
	return min(time.Duration(r.random.ExpFloat64()*float64(shortly)), longest)
}

// kill kills the manager and checks what it left.
func (r *run) kill(ctx context.Context) error {
	if err := r.management.Kill(r.manager()); err != nil {
		return errors.Join(err, r.management.Err())
	}
	r.kills++
	if err := r.look(ctx); err != nil {
		return err
	}
	if r.kills%reportEvery == 0 {
		r.options.printf("%s: %d kills, %d machines created, %d deleted, %d faults", r.mode.Name, r.kills, r.made, r.deleted, len(r.faults))
	}
	return nil
}

// killEarly kills a manager that is about to start.
func (r *run) killEarly(ctx context.Context) error {
	if _, err := r.management.Restart(ctx, r.manager()); err != nil {
		return err
	}
	if err := provider.Pause(ctx, time.Duration(r.random.Int64N(int64(longest)))); err != nil {
		return err
	}
	return r.kill(ctx)
}

func (r *run) manager() string { return binaries.Provider(r.options.Provider.Describe().Name) }

// look checks the current state, and records the machines that have been deleted.
func (r *run) look(ctx context.Context) error {
	s, err := r.infrastructure.Observe(ctx)
	if err != nil {
		return fmt.Errorf("listing the machines: %w", err)
	}
	if len(unsettled(r.members, s)) > 0 {
		r.amid++
	}
	r.note(checkMachines(r.members, s))
	return r.sweep(ctx, s)
}

// note records and prints each fault once.
func (r *run) note(faults []provider.Fault) {
	for _, f := range faults {
		text := f.String()
		if !slices.ContainsFunc(r.faults, func(known string) bool { return strings.HasSuffix(known, text) }) {
			r.faults = append(r.faults, fmt.Sprintf("after %d kills: %s", r.kills, text))
			r.options.printf("%s: %s", r.mode.Name, r.faults[len(r.faults)-1])
		}
	}
}

// settle waits until every machine has reached its final state, and checks it.
func (r *run) settle(ctx context.Context, when string) error {
	if err := errors.Join(r.infrastructure.EndDisturbances(), r.apiServer.Set(ctx, false)); err != nil {
		return fmt.Errorf("ending the faults of the infrastructure and the API server: %w", err)
	}
	faults, err := r.await(ctx, settleLimit, func(s provider.Snapshot) []provider.Fault {
		return append(unsettled(r.members, s), checkMachines(r.members, s)...)
	})
	for i := range faults {
		faults[i].What = when + ": " + faults[i].What
	}
	r.note(faults)
	return err
}

// await checks until no fault is found or the limit has passed, and returns the last faults.
func (r *run) await(ctx context.Context, limit time.Duration, find func(provider.Snapshot) []provider.Fault) ([]provider.Fault, error) {
	for began := time.Now(); ; {
		var faults []provider.Fault
		s, err := r.infrastructure.Observe(ctx)
		if err == nil {
			faults, err = find(s), r.sweep(ctx, s)
		}
		if err != nil || len(faults) == 0 || time.Since(began) > limit || r.management.Err() != nil {
			return faults, err
		}
		if err := provider.Pause(ctx, provider.PollInterval); err != nil {
			return nil, err
		}
	}
}

// remains waits until nothing is left: garbage is collected asynchronously. If machines already took too long to disappear, it does not
// wait again.
func (r *run) remains(ctx context.Context) error {
	limit := settleLimit
	if len(r.faults) > 0 {
		limit = 0
	}
	var left []provider.Fault
	_, err := r.await(ctx, limit, func(provider.Snapshot) (_ []provider.Fault) {
		var err error
		if left, err = r.infrastructure.Leftovers(ctx); err != nil {
			left = []provider.Fault{{Object: "remains", What: err.Error()}}
		}
		return left
	})
	r.note(left)
	return err
}
