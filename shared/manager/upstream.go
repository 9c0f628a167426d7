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

// Ignored is a flag or feature gate of the upstream manager that has no effect here.
type Ignored struct {
	Name string
	// Why is the reason for which it has no effect, and what to do instead, if anything.
	Why string
}

// Gate is an upstream feature gate that has an effect. It is off unless it, or AllAlpha, is enabled.
type Gate struct{ Name, Does string }

// gates holds the value of --feature-gates.
type gates struct {
	pflag.Value
	acting []Gate
	known  []Ignored
	given  map[string]bool
}

// Set rejects unknown gates.
func (g *gates) Set(value string) error {
	if err := g.Value.Set(value); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(g.given)) {
		if _, known := g.ignored(name); !known && !g.acts(name) {
			return fmt.Errorf("unknown feature gate %q: remove it", name)
		}
	}
	return nil
}

// acts reports whether a gate has an effect.
func (g *gates) acts(name string) bool {
	return name == allAlpha && len(g.acting) > 0 || slices.ContainsFunc(g.acting, func(gate Gate) bool { return gate.Name == name })
}

// ignored returns a gate without effect.
func (g *gates) ignored(name string) (Ignored, bool) {
	i := slices.IndexFunc(g.known, func(gate Ignored) bool { return gate.Name == name })
	if i < 0 {
		return Ignored{}, false
	}
	return g.known[i], true
}

// Ignore adds upstream flags that have no effect, so that the arguments of the upstream Deployment can be kept. The use of such a
// flag is logged once.
func (o *Options) Ignore(fs *pflag.FlagSet, ignored ...Ignored) {
	o.ignored = append(o.ignored, ignored...)
	for _, one := range ignored {
		fs.String(one.Name, "", "Has no effect: "+one.Why)
	}
}

// allAlpha enables every gate that is not set by its name.
const allAlpha = "AllAlpha"

// Gates adds --feature-gates with gates that have an effect and others that have none. An unknown gate is an error, as in
// upstream.
func (o *Options) Gates(fs *pflag.FlagSet, acting []Gate, known ...Ignored) {
	o.gates = &gates{acting: acting, known: known, given: map[string]bool{}}
	o.gates.Value = cliflag.NewMapStringBool(&o.gates.given)
	usage := []string{"Comma-separated list of upstream's feature gates."}
	for _, gate := range acting {
		usage = append(usage, gate.Name+"=true|false ("+gate.Does+"; false by default)")
	}
	usage = append(usage, "These are accepted and have no effect:")
	for _, gate := range known {
		usage = append(usage, gate.Name+"=true|false ("+gate.Why+")")
	}
	fs.Var(o.gates, "feature-gates", strings.Join(usage, "\n"))
}

// Enabled reports whether a gate that has an effect is enabled.
func (o *Options) Enabled(gate string) bool {
	if o.gates == nil {
		return false
	}
	if on, given := o.gates.given[gate]; given {
		return on
	}
	return o.gates.given[allAlpha]
}

// logIgnored logs the given flags and gates that have no effect.
func (o *Options) logIgnored(log logr.Logger) {
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
