// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package all registers the providers there are.
package all

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

// Provider is one that can be used by everything in e2e.
type Provider interface {
	provider.Provider
	benchmark.Provider
}

// Providers are all there are. A further one is one more line.
func Providers() []Provider {
	return []Provider{
		metal3.Provider{},
		vsphere.Provider{},
	}
}

// Named is the provider of a name.
func Named(name string) (Provider, error) {
	i := slices.IndexFunc(Providers(), func(p Provider) bool { return p.Describe().Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no simulated infrastructure for provider %q: it is one of %s", name, strings.Join(Names(), ", "))
	}
	return Providers()[i], nil
}

// Names are those of the providers there are.
func Names() []string {
	var names []string
	for _, p := range Providers() {
		names = append(names, p.Describe().Name)
	}
	return names
}
