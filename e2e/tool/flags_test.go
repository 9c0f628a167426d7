// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"bytes"
	"errors"
	"flag"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// command returns flags, and their output.
func command() (*flag.FlagSet, *bytes.Buffer) {
	written := &bytes.Buffer{}
	flags := flag.NewFlagSet("try", flag.ContinueOnError)
	flags.SetOutput(written)
	flags.Bool("keep", false, "leave everything")
	flags.Int("kills", 200, "how often")
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
		{[]string{"--kils=3"}, `flag provided but not defined: -kils: see "try --help"`},
		{[]string{"--kills=x"}, `invalid value "x" for flag -kills: parse error: see "try --help"`},
		{[]string{"--provider=c"}, `invalid value "c" for flag -provider: must be a or b: see "try --help"`},
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
