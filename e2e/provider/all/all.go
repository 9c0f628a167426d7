// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package all registers all providers.
package all

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/harvester"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

// providers returns all providers. A new provider needs one more line here.
func providers() []provider.Provider {
	return []provider.Provider{
		harvester.Provider{},
		metal3.Provider{Operator: metal3.OperatorOf()},
		vsphere.Provider{},
	}
}

// Providers returns the providers that implement T: provider.DemoProvider, ChaosProvider, KindProvider, benchmark.Provider, or
// provider.Provider for all.
func Providers[T provider.Provider]() []T {
	var able []T
	for _, p := range providers() {
		if p, ok := p.(T); ok {
			able = append(able, p)
		}
	}
	return able
}

// Named returns the provider with a name that implements T.
func Named[T provider.Provider](name string) (found T, err error) {
	able := Providers[T]()
	i := slices.IndexFunc(able, func(p T) bool { return p.Describe().Name == name })
	if i < 0 {
		return found, fmt.Errorf("provider %q has no simulated infrastructure: must be one of %s", name, strings.Join(Names[T](), ", "))
	}
	return able[i], nil
}

// Names returns the names of the providers that implement T.
func Names[T provider.Provider]() []string {
	var names []string
	for _, p := range Providers[T]() {
		names = append(names, p.Describe().Name)
	}
	return names
}
