// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command storm kills a provider's manager at random moments while machines are made
// and deleted, and tells what went wrong with them. It needs Go and nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/storm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	options := storm.Options{Out: os.Stdout, Progress: os.Stderr}
	flags := flag.NewFlagSet("storm", flag.ContinueOnError)
	name := flags.String("provider", "vsphere", "infrastructure provider whose manager is killed: "+strings.Join(all.Names(), " or "))
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
	var err error
	if options.Provider, err = all.Named(*name); err != nil {
		return err
	}
	return storm.Run(ctx, options)
}
