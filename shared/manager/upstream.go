// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// Ignored is a flag, or a feature gate, of upstream's manager that has no effect here.
type Ignored struct {
	Name string
	// Why it has none, and what to do instead if there is something to do.
	Why string
}

// gates is what --feature-gates says.
type gates struct {
	known []Ignored
	given map[string]bool
}

// Ignore adds flags of upstream's that have no effect, so that the arguments of its Deployment can stay. Whoever gives one is told
// once, in the log.
func (o *Options) Ignore(fs *pflag.FlagSet, ignored ...Ignored) {
	o.ignored = append(o.ignored, ignored...)
	for _, one := range ignored {
		fs.String(one.Name, "", "Has no effect: "+one.Why)
	}
}

// IgnoreGates adds --feature-gates with gates of upstream's that have no effect. An unknown gate is an error, as it is upstream.
func (o *Options) IgnoreGates(fs *pflag.FlagSet, known ...Ignored) {
	o.gates = &gates{known: known, given: map[string]bool{}}
	usage := []string{"Comma-separated feature gates of upstream. They are accepted and have no effect:"}
	for _, gate := range known {
		usage = append(usage, gate.Name+"=true|false ("+gate.Why+")")
	}
	fs.Var(cliflag.NewMapStringBool(&o.gates.given), "feature-gates", strings.Join(usage, "\n"))
}

// tellIgnored says which flags and gates have no effect.
func (o *Options) tellIgnored(log logr.Logger) error {
	for _, one := range o.ignored {
		if o.given.Changed(one.Name) {
			log.Info("Flag has no effect", "flag", "--"+one.Name, "why", one.Why)
		}
	}
	if o.gates == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.gates.given)) {
		known := slices.IndexFunc(o.gates.known, func(gate Ignored) bool { return gate.Name == name })
		if known < 0 {
			return fmt.Errorf("--feature-gates: there is no gate %q: leave it out", name)
		}
		log.Info("Feature gate has no effect", "gate", name, "value", o.gates.given[name], "why", o.gates.known[known].Why)
	}
	return nil
}
