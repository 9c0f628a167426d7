// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Scale says how many machines are made, and for how long they are looked at when they are ready.
type Scale struct {
	Machines int
	Watch    time.Duration
}

// ParseScale reads "1", which stands for what the aim is about, or what differs from that: "machines=50,watch=1m".
func ParseScale(text string) (*Scale, error) {
	s := &Scale{Machines: 200, Watch: 10 * time.Minute}
	if err := benchmark.ReadScale(text, benchmark.Number("machines", &s.Machines), benchmark.Duration("watch", &s.Watch)); err != nil {
		return nil, err
	}
	if s.Machines <= 0 || s.Watch <= 0 {
		return nil, fmt.Errorf("reading %q: there are to be some machines, and a time to watch them", text)
	}
	return s, nil
}

// limit is how long the scenario may take: a machine every quarter of a second on a busy computer, and what is watched.
func (s Scale) limit() time.Duration {
	return benchmark.ScenarioLimit + time.Duration(s.Machines)*time.Second/4 + s.Watch
}

// measureScale makes the machines once, and has nothing else happen.
func measureScale(ctx context.Context, b *benchmark.Runner, text string) (benchmark.Outcome, error) {
	size, err := ParseScale(text)
	if err != nil {
		return nil, err
	}
	b.Limit = size.limit()
	r := newResults(b)
	return r, r.batch(ctx, b, size.Machines, size.Watch)
}
