// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/faultline-io/faultline/shared/faults"
	"github.com/faultline-io/faultline/shared/simulation"
)

// APIServerFaults is a proxy that injects faults between a manager and the API server and counts requests. Other clients reach the API
// server directly. The zero value has no faults. If it is nil, the manager uses no proxy.
type APIServerFaults struct {
	faults []simulation.ProxyFault
	proxy  *simulation.Proxy // nil until the manager is started
	on     bool
}

// NewAPIServerFaults returns the faults of simulation.ProxyFaults in a comma-separated list of names; nil for an empty list.
func NewAPIServerFaults(names string) (*APIServerFaults, error) {
	if names == "" {
		return nil, nil
	}
	d := &APIServerFaults{}
	for name := range strings.SplitSeq(names, ",") {
		fault, err := faults.Named(simulation.ProxyFaults(), strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("parsing the faults of the API server: %w", err)
		}
		d.faults = append(d.faults, fault)
	}
	return d, nil
}

// APIServerFaultNames returns the names of the faults.
func APIServerFaultNames() []string {
	var names []string
	for _, fault := range simulation.ProxyFaults() {
		names = append(names, fault.Name)
	}
	return names
}

// between starts the proxy in front of the API server of config, and returns the configuration for reaching it.
func (d *APIServerFaults) between(ctx context.Context, config *rest.Config) (*rest.Config, error) {
	proxy, err := simulation.NewProxy(config, simulation.Address{})
	if err != nil {
		return nil, err
	}
	proxy.CountOnly()
	d.proxy = proxy
	if err := proxy.Up(ctx); err != nil {
		return nil, err
	}
	return &rest.Config{Host: proxy.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: proxy.Authority()}}, nil
}

// Set enables or disables the faults of a manager that was started. They are disabled at first.
func (d *APIServerFaults) Set(ctx context.Context, on bool) error {
	if d == nil || d.on == on {
		return nil
	}
	d.on = on
	var failed []error
	for i := range d.faults {
		failed = append(failed, d.faults[i].Make(ctx, &d.proxy.Faults, on))
	}
	return errors.Join(failed...)
}

// Highest returns the highest rate of requests for one object.
func (d *APIServerFaults) Highest() simulation.Rate { return d.proxy.Highest() }

// Watches returns the number of watches that the manager has open at the API server.
func (d *APIServerFaults) Watches() int { return len(d.proxy.Watches()) }

func (d *APIServerFaults) close() {
	if d.proxy != nil {
		_ = d.proxy.Close() // It refuses connections from then on.
	}
}
