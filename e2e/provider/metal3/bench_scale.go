// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Scale says how much there is to be spread over failure domains, and how long the manager is watched at rest.
type Scale struct {
	// Clusters have control planes, Workers are machines of one MachineDeployment of another cluster.
	Clusters, Workers int
	Watch             time.Duration
}

// ParseScale reads "1", which stands for what the aims are about, or what differs from that: "clusters=100,workers=50,watch=10s".
// Of clusters and workers one may be 0, which leaves its scenario out.
func ParseScale(text string) (*Scale, error) {
	s := &Scale{Clusters: aimClusters, Workers: aimWorkers, Watch: 30 * time.Second}
	if err := benchmark.ReadScale(text, benchmark.Number("clusters", &s.Clusters), benchmark.Number("workers", &s.Workers), benchmark.Duration("watch", &s.Watch)); err != nil {
		return nil, err
	}
	if min(s.Clusters, s.Workers) < 0 || s.Clusters+s.Workers == 0 || s.Watch <= 0 {
		return nil, fmt.Errorf("reading %q: there are to be some clusters or workers, and a time to watch them", text)
	}
	return s, nil
}

// limit is how long a scenario may take: most of it is the making of objects on a busy computer.
func (s Scale) limit() time.Duration {
	return benchmark.ScenarioLimit + time.Duration(s.Clusters)*time.Second + time.Duration(s.Workers)*time.Second/4 + 2*s.Watch
}

// ScaleResults are what it costs to spread many machines over failure domains.
type ScaleResults struct {
	CPUs int     `json:"cpus"`
	Load float64 `json:"load"`
	// Clusters and Workers are nil if they were not, or could not be, measured.
	Clusters *ClusterResults `json:"clusters,omitempty"`
	Workers  *WorkerResults  `json:"workers,omitempty"`
}

// measureScale runs both scenarios, each in a management cluster of its own.
func measureScale(ctx context.Context, b *benchmark.Runner, text string) (benchmark.Outcome, error) {
	size, err := ParseScale(text)
	if err != nil {
		return nil, err
	}
	b.Limit = size.limit()
	r := &ScaleResults{CPUs: goruntime.NumCPU(), Load: benchmark.Load()}
	var errs []error
	if size.Workers > 0 {
		workers, err := measureWorkers(ctx, b, size.Workers)
		r.Workers, errs = workers, append(errs, err)
	}
	if size.Clusters > 0 && ctx.Err() == nil {
		clusters, err := measureClusters(ctx, b, *size)
		r.Clusters, errs = clusters, append(errs, err)
	}
	return r, errors.Join(errs...)
}
