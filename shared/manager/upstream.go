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

// Gate is a feature gate of upstream's that has an effect. It is off unless it is given, or AllAlpha is.
type Gate struct{ Name, Does string }

// gates is what --feature-gates says.
type gates struct {
	pflag.Value
	acting []Gate
	known  []Ignored
	given  map[string]bool
}

// Set refuses gates that are unknown.
func (g *gates) Set(value string) error {
	if err := g.Value.Set(value); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(g.given)) {
		if _, known := g.ignored(name); !known && !g.acts(name) {
			return fmt.Errorf("there is no gate %q: leave it out", name)
		}
	}
	return nil
}

// acts reports whether a gate has an effect.
func (g *gates) acts(name string) bool {
	return name == allAlpha && len(g.acting) > 0 || slices.ContainsFunc(g.acting, func(gate Gate) bool { return gate.Name == name })
}

// ignored returns a gate that has none.
func (g *gates) ignored(name string) (Ignored, bool) {
	i := slices.IndexFunc(g.known, func(gate Ignored) bool { return gate.Name == name })
	if i < 0 {
		return Ignored{}, false
	}
	return g.known[i], true
}

// Ignore adds flags of upstream's that have no effect, so that the arguments of its Deployment can stay. Whoever gives one is told
// once, in the log.
func (o *Options) Ignore(fs *pflag.FlagSet, ignored ...Ignored) {
	o.ignored = append(o.ignored, ignored...)
	for _, one := range ignored {
		fs.String(one.Name, "", "Has no effect: "+one.Why)
	}
}

// allAlpha turns on every gate that is not given by its name.
const allAlpha = "AllAlpha"

// Gates adds --feature-gates with gates that have an effect, and others that have none. An unknown gate is an error, as it is upstream.
func (o *Options) Gates(fs *pflag.FlagSet, acting []Gate, known ...Ignored) {
	o.gates = &gates{acting: acting, known: known, given: map[string]bool{}}
	o.gates.Value = cliflag.NewMapStringBool(&o.gates.given)
	usage := []string{"Comma-separated feature gates of upstream."}
	for _, gate := range acting {
		usage = append(usage, gate.Name+"=true|false ("+gate.Does+"; false by default)")
	}
	usage = append(usage, "These are accepted and have no effect:")
	for _, gate := range known {
		usage = append(usage, gate.Name+"=true|false ("+gate.Why+")")
	}
	fs.Var(o.gates, "feature-gates", strings.Join(usage, "\n"))
}

// Enabled reports whether a gate that has an effect is on.
func (o *Options) Enabled(gate string) bool {
	if o.gates == nil {
		return false
	}
	if on, given := o.gates.given[gate]; given {
		return on
	}
	return o.gates.given[allAlpha]
}

// tellIgnored says which flags and gates have no effect.
func (o *Options) tellIgnored(log logr.Logger) {
	for _, one := range o.ignored {
		if o.given.Changed(one.Name) {
			log.Info("Flag has no effect", "flag", "--"+one.Name, "why", one.Why)
		}
	}
	if o.gates == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o.gates.given)) {
		if gate, ignored := o.gates.ignored(name); ignored {
			log.Info("Feature gate has no effect", "gate", name, "value", o.gates.given[name], "why", gate.Why)
		}
	}
}
