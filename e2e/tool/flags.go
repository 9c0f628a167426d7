// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ParseFlags parses the flags of a command without arguments. It returns errors as one line with the fix, and prints only the usage, when
// the user requests it.
func ParseFlags(flags *flag.FlagSet, args []string) error {
	if err := ParseWords(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: flags begin with --, %s", flags.Arg(0), seeHelp(flags))
	}
	return nil
}

// ParseWords is ParseFlags for a command with arguments after its flags.
func ParseWords(flags *flag.FlagSet, args []string) error {
	usage, output := flags.Usage, flags.Output()
	if usage == nil {
		usage = func() {
			_, _ = fmt.Fprintf(output, "Usage of %s:\n", flags.Name())
			flags.PrintDefaults()
		}
	}
	flags.Usage = func() {}
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	flags.SetOutput(output)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage()
		return err
	case err != nil:
		return fmt.Errorf("%w: %s", err, seeHelp(flags))
	}
	// Package flag stops at the first argument: a flag after it would be ignored.
	words := flags.Args()
	if i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }); i >= 0 {
		return fmt.Errorf("flags must precede arguments: %s %s", flags.Name(), strings.Join(append(words[i:], words[:i]...), " "))
	}
	return nil
}

func seeHelp(flags *flag.FlagSet) string { return fmt.Sprintf(`see "%s --help"`, flags.Name()) }
