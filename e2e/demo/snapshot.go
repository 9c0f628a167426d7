// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// observe takes a snapshot.
func (d *demo) observe(ctx context.Context) (snapshot.Snapshot, error) {
	return snapshot.Take(ctx, d.management.Client, snapshot.Cluster{
		ObjectKey: d.cluster, Domains: d.domains(), Infrastructure: d.infrastructure, System: d.about.System,
	})
}
