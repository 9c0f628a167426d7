// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command storm kills a provider's manager at random moments while machines are made
// and deleted, and tells what went wrong with them. It needs Go and nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"strconv"

	"github.com/faultline-io/faultline/e2e/program"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/storm"
)

func main() { program.Main(run, program.Plain) }

func run(ctx context.Context, args []string) error {
	options := storm.Options{Out: os.Stdout, Progress: os.Stderr}
	flags := flag.NewFlagSet("storm", flag.ContinueOnError)
	chosen := all.Flag(flags, "infrastructure provider whose manager is killed")
	flags.IntVar(&options.Kills, "kills", storm.DefaultKills, "how often it is killed in each mode")
	flags.IntVar(&options.Machines, "machines", storm.DefaultMachines, "about how many machines there are at a time")
	flags.StringVar(&options.Mode, "mode", "", "how the infrastructure behaves; every way in turn when empty")
	flags.Func("seed", "`number` that what is random is drawn from (default: one that is drawn and printed)", func(value string) (err error) {
		if options.Seed, err = strconv.ParseUint(value, 10, 64); err != nil || options.Seed == 0 {
			return errors.New("a seed is a whole number from 1 on, as an earlier storm printed it")
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	options.Provider = *chosen
	return storm.Run(ctx, options)
}
