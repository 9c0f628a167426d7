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

	"github.com/faultline-io/faultline/e2e/chaos"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/e2e/tool"
)

// runStorm runs subcommand storm.
func runStorm(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := chaos.Options{Out: stdout, Progress: stderr}
	flags := flag.NewFlagSet("e2e storm", flag.ContinueOnError)
	chosen := all.Flag[provider.InStorm](flags, "infrastructure provider whose manager is killed")
	flags.IntVar(&options.Kills, "kills", chaos.DefaultKills, "how often it is killed in each mode")
	flags.IntVar(&options.Machines, "machines", chaos.DefaultMachines, "about how many machines there are at a time")
	flags.StringVar(&options.Mode, "mode", "", "how the infrastructure behaves, every way in turn when empty; "+chaos.RebalanceMode+" moves machines of control planes instead, "+
		chaos.SoakMode+" has clusters come and go and looks at what the manager keeps of them")
	flags.IntVar(&options.Clusters, "clusters", chaos.DefaultClusters, "how many clusters come and go in mode "+chaos.SoakMode)
	flags.StringVar(&options.APIServer, "api-server", "", "how the API server disobeys the manager, with commas between: "+strings.Join(managementcluster.Disobediences(), ", "))
	flags.IntVar(&options.Seeds, "seeds", chaos.DefaultSeeds, "how many control planes there are in mode "+chaos.RebalanceMode+", each with a seed of its own")
	flags.IntVar(&options.AtOnce, "at-once", chaos.DefaultAtOnce, "how many of them there are at a time")
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
	return chaos.Run(ctx, options)
}
