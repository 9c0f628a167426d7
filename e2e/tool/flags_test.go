// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"errors"
	"flag"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// command returns flags of every type, and their output.
func command() (*flag.FlagSet, *bytes.Buffer) {
	written := &bytes.Buffer{}
	flags := flag.NewFlagSet("try", flag.ContinueOnError)
	flags.SetOutput(written)
	flags.Bool("keep", false, "leave everything")
	flags.Int("kills", 200, "how often")
	flags.Uint64("seed", 1, "what is random")
	flags.Float64("jitter", 0, "share")
	flags.Duration("boot", time.Second, "time to boot")
	flags.Func("provider", "who", func(string) error { return errors.New("must be a or b") })
	return flags, written
}

func TestFlagErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--frobnicate"}, `unknown flag --frobnicate: see "try --help"`},
		{[]string{"--kils=3"}, `unknown flag --kils: see "try --help"`},
		{[]string{"--kills"}, "--kills needs a value: --kills=VALUE, an integer"},
		{[]string{"--kills=x"}, `--kills="x": must be an integer`},
		{[]string{"--kills", "99999999999999999999"}, `--kills="99999999999999999999": the number is too large`},
		{[]string{"--seed=-1"}, `--seed="-1": must be an integer of 0 or more`},
		{[]string{"--jitter=much"}, `--jitter="much": must be a number, for example 0.2`},
		{[]string{"--boot=5"}, `--boot="5": must be a duration, for example 90s or 5m`},
		{[]string{"--keep=perhaps"}, `--keep="perhaps": must be true or false`},
		{[]string{"--provider=c"}, `--provider="c": must be a or b`},
		{[]string{"---keep"}, `bad flag syntax ---keep: see "try --help"`},
		{[]string{"metal3"}, `unexpected argument "metal3": flags begin with --, see "try --help"`},
	} {
		g := NewWithT(t)
		flags, written := command()
		g.Expect(ParseFlags(flags, c.args)).To(MatchError(c.want))
		g.Expect(written.String()).To(BeEmpty(), "%v: only the caller writes it", c.args)
	}
}

func TestHelpIsTheWholeUsage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags, written := command()
	g.Expect(ParseFlags(flags, []string{"--help"})).To(MatchError(flag.ErrHelp))
	g.Expect(written.String()).To(And(ContainSubstring("Usage of try:"), ContainSubstring("-kills"), ContainSubstring("-boot")))
}

func TestFlagsAfterArgumentAreRejected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags, _ := command()
	g.Expect(ParseWords(flags, []string{"--kills=3", "up", "now"})).To(Succeed())
	g.Expect(flags.Args()).To(Equal([]string{"up", "now"}))
	flags, _ = command()
	g.Expect(ParseWords(flags, []string{"up", "--keep"})).To(MatchError("flags must precede arguments: try --keep up"))
}
