// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Kill kills a manager without warning, as a power loss of its node does, and returns when it has exited. The cluster does not count it
// as a failure.
func (p *Cluster) Kill(name string) error { return p.stopManager(name, 0) }

// Terminate stops a manager gracefully, as the kubelet does with a replaced pod, and returns when it has exited.
func (p *Cluster) Terminate(name string) error { return p.stopManager(name, stopGrace) }

// stopManager removes a manager's process from the list of running processes, and stops it.
func (p *Cluster) stopManager(name string, grace time.Duration) error {
	p.mutex.Lock()
	i := slices.IndexFunc(p.processes, func(process *process) bool { return process.name == name })
	if _, manager := p.managers[name]; !manager || i < 0 {
		p.mutex.Unlock()
		return fmt.Errorf("stopping %s: no manager of that name is running", name)
	}
	process := p.processes[i]
	p.processes = slices.Delete(slices.Clone(p.processes), i, i+1)
	p.mutex.Unlock()
	process.stop(grace)
	return nil
}

// Restart restarts a killed manager with the same account, certificate and ports. The returned function waits until it is ready.
func (p *Cluster) Restart(ctx context.Context, name string) (ready func(context.Context) error, err error) {
	p.mutex.Lock()
	manager, ok := p.managers[name]
	p.mutex.Unlock()
	if !ok {
		return nil, fmt.Errorf("restarting %s: no manager has that name", name)
	}
	return p.launch(ctx, manager)
}

func (p *Cluster) launch(ctx context.Context, manager command) (func(context.Context) error, error) {
	started, err := p.start(ctx, manager)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	p.managers[manager.name] = manager
	p.mutex.Unlock()
	return func(ctx context.Context) error { return ready(ctx, started, http.DefaultClient, manager.health) }, nil
}
