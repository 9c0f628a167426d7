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
	flags.Func("provider", "who", func(string) error { return errors.New("it is one of a or b") })
	return flags, written
}

func TestWhatIsWrongWithFlagsIsOneLineThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--frobnicate"}, "there is no flag --frobnicate: `try --help` lists those there are"},
		{[]string{"--kils=3"}, "there is no flag --kils: `try --help` lists those there are"},
		{[]string{"--kills"}, "--kills has no value: write --kills=VALUE, a whole number"},
		{[]string{"--kills=x"}, `--kills="x": it is a whole number`},
		{[]string{"--kills", "99999999999999999999"}, `--kills="99999999999999999999": the number is too large`},
		{[]string{"--seed=-1"}, `--seed="-1": it is a whole number from 0 on`},
		{[]string{"--jitter=much"}, `--jitter="much": it is a number such as 0.2`},
		{[]string{"--boot=5"}, `--boot="5": it is a time such as 90s or 5m`},
		{[]string{"--keep=perhaps"}, `--keep="perhaps": it is true or false`},
		{[]string{"--provider=c"}, `--provider="c": it is one of a or b`},
		{[]string{"---keep"}, "---keep is no flag: `try --help` lists those there are"},
		{[]string{"metal3"}, `"metal3" is no flag: flags begin with --, and ` + "`try --help` lists those there are"},
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

func TestFlagsAfterAWordAreNotOverlooked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	flags, _ := command()
	g.Expect(ParseWords(flags, []string{"--kills=3", "up", "now"})).To(Succeed())
	g.Expect(flags.Args()).To(Equal([]string{"up", "now"}))
	flags, _ = command()
	g.Expect(ParseWords(flags, []string{"up", "--keep"})).To(MatchError("flags go before words: try --keep up"))
}
