// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	"github.com/faultline-io/faultline/e2e/provider"
)

// observe takes a snapshot.
func (d *demo) observe(ctx context.Context) (snapshot.Snapshot, error) {
	return snapshot.Take(ctx, d.Management.Client, snapshot.Cluster{
		ObjectKey: d.cluster, Domains: d.domains(), Infrastructure: d.infrastructure, System: d.about.System,
	})
}

// until takes snapshots until nothing is missing.
func (d *demo) until(ctx context.Context, check func(context.Context, snapshot.Snapshot) (missing string, err error)) error {
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := d.observe(ctx)
		if err != nil {
			return "", err
		}
		return check(ctx, now)
	})
}
