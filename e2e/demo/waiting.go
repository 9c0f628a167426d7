// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// workerWaits deletes a worker in the broken domain. Its MachineDeployment uses only that domain: the replacement must wait, and nothing
// may be created for it anywhere.
func (d *demo) workerWaits(ctx context.Context) error {
	before, err := d.observe(ctx)
	if err != nil {
		return err
	}
	worker, err := snapshot.WorkerIn(before, d.failed.Domain)
	if err != nil {
		return err
	}
	if err := d.letGo(ctx, worker); err != nil {
		return err
	}
	waits := ""
	err = d.until(ctx, func(ctx context.Context, now snapshot.Snapshot) (string, error) {
		replacement, missing, err := snapshot.Waiting(now, worker)
		if missing != "" || err != nil {
			return missing, err
		}
		var machine clusterv1.Machine
		if err := d.Management.Client.Get(ctx, client.ObjectKey{Namespace: d.cluster.Namespace, Name: replacement}, &machine); err != nil {
			return "", err
		}
		if waits = snapshot.WaitsFor(d.failed.Domain, machine.Status.Conditions); waits == "" {
			return fmt.Sprintf("Machine %s does not report that it waits for %s", replacement, d.failed.Domain), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	d.tell("", waits)
	return nil
}
