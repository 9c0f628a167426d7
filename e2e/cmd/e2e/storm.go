// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/rebalancing"
	"github.com/faultline-io/faultline/e2e/storm"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runStorm is subcommand storm.
func runStorm(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := storm.Options{Out: stdout, Progress: stderr}
	flags := flag.NewFlagSet("e2e storm", flag.ContinueOnError)
	chosen := all.Flag[provider.InStorm](flags, "infrastructure provider whose manager is killed")
	flags.IntVar(&options.Kills, "kills", storm.DefaultKills, "how often it is killed in each mode")
	flags.IntVar(&options.Machines, "machines", storm.DefaultMachines, "about how many machines there are at a time")
	flags.StringVar(&options.Mode, "mode", "", "how the infrastructure behaves, every way in turn when empty; "+rebalancing.Mode+" moves machines of control planes instead, "+
		storm.SoakMode+" has clusters come and go and looks at what the manager keeps of them")
	clusters := flags.Int("clusters", storm.DefaultClusters, "how many clusters come and go in mode "+storm.SoakMode)
	flags.StringVar(&options.APIServer, "api-server", "", "how the API server disobeys the manager, with commas between: "+strings.Join(managementcluster.Disobediences(), ", "))
	seeds := flags.Int("seeds", rebalancing.DefaultSeeds, "how many control planes there are in mode "+rebalancing.Mode+", each with a seed of its own")
	atOnce := flags.Int("at-once", rebalancing.DefaultAtOnce, "how many of them there are at a time")
	flags.Func("seed", "`number` that what is random is drawn from (default: one that is drawn and printed)", func(value string) (err error) {
		if options.Seed, err = strconv.ParseUint(value, 10, 64); err != nil || options.Seed == 0 {
			return errors.New("a seed is a whole number from 1 on, as an earlier storm printed it")
		}
		return nil
	})
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	options.Provider = *chosen
	if options.Mode == storm.SoakMode {
		options.Clusters = *clusters
		return storm.Soak(ctx, options)
	}
	if options.Mode == rebalancing.Mode {
		return rebalancing.Run(ctx, rebalancing.Options{
			Provider: *chosen, Seeds: *seeds, Seed: options.Seed, AtOnce: *atOnce, APIServer: options.APIServer, Out: options.Out, Progress: options.Progress,
		})
	}
	return storm.Run(ctx, options)
}
