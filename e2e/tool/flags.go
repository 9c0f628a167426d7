// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
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
	flags.Usage = func() {}
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	flags.Usage = usage
	flags.SetOutput(output)
	switch {
	case errors.Is(err, flag.ErrHelp):
		showUsage(flags)
		return err
	case err != nil:
		return errors.New(rewriteFlagError(flags, err.Error()))
	}
	// Package flag stops at the first argument: a flag after it would be ignored.
	words := flags.Args()
	if i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }); i >= 0 {
		return fmt.Errorf("flags must precede arguments: %s %s", flags.Name(), strings.Join(append(words[i:], words[:i]...), " "))
	}
	return nil
}

func showUsage(flags *flag.FlagSet) {
	if flags.Usage != nil {
		flags.Usage()
		return
	}
	_, _ = fmt.Fprintf(flags.Output(), "Usage of %s:\n", flags.Name())
	flags.PrintDefaults()
}

func seeHelp(flags *flag.FlagSet) string {
	return fmt.Sprintf(`see "%s --help"`, flags.Name())
}

// rewriteFlagError rewrites a message of package flag with the fix.
func rewriteFlagError(flags *flag.FlagSet, message string) string {
	if name, ok := strings.CutPrefix(message, "flag provided but not defined: -"); ok {
		return "unknown flag --" + name + ": " + seeHelp(flags)
	}
	if syntax, ok := strings.CutPrefix(message, "bad flag syntax: "); ok {
		return "bad flag syntax " + syntax + ": " + seeHelp(flags)
	}
	if name, ok := strings.CutPrefix(message, "flag needs an argument: -"); ok {
		return fmt.Sprintf("--%s needs a value: --%s=VALUE, %s", name, name, expected(flags, name))
	}
	invalid := regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]+): (.*)$`)
	if found := invalid.FindStringSubmatch(message); found != nil {
		value, name, reason := found[1], found[2], found[3]
		switch reason {
		case "parse error":
			reason = "must be " + expected(flags, name)
		case "value out of range":
			reason = "the number is too large"
		}
		return fmt.Sprintf("--%s=%s: %s", name, value, reason)
	}
	return message
}

// expected describes the values of a flag.
func expected(flags *flag.FlagSet, name string) string {
	value, ok := flags.Lookup(name).Value.(flag.Getter)
	if !ok {
		return asInHelp(flags)
	}
	switch value.Get().(type) {
	case bool:
		return "true or false"
	case int, int64:
		return "an integer"
	case uint, uint64:
		return "an integer of 0 or more"
	case float64:
		return "a number, for example 0.2"
	case time.Duration:
		return "a duration, for example 90s or 5m"
	}
	return asInHelp(flags)
}

func asInHelp(flags *flag.FlagSet) string {
	return fmt.Sprintf(`as described by "%s --help"`, flags.Name())
}
