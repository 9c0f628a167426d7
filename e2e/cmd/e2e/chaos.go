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

// runChaos runs the subcommand "e2e storm".
func runChaos(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := chaos.Options{Out: stdout, Progress: stderr}
	flags := flag.NewFlagSet("e2e storm", flag.ContinueOnError)
	chosen := all.Flag[provider.ChaosProvider](flags, "Infrastructure provider whose manager is killed")
	flags.IntVar(&options.Kills, "kills", chaos.DefaultKills, "Number of kills in each mode.")
	flags.IntVar(&options.Machines, "machines", chaos.DefaultMachines, "Approximate number of machines at a time.")
	flags.StringVar(&options.Mode, "mode", "", "Behavior of the infrastructure. Defaults to all modes, one after the other. "+chaos.RebalanceMode+" moves machines of control planes instead, "+
		chaos.SoakMode+" creates and deletes clusters and measures what the manager keeps of them.")
	flags.IntVar(&options.Clusters, "clusters", chaos.DefaultClusters, "Number of clusters to create and delete in mode "+chaos.SoakMode+".")
	flags.StringVar(&options.APIServer, "api-server", "", "Comma-separated list of faults of the API server: "+strings.Join(managementcluster.APIServerFaultNames(), ", ")+".")
	flags.IntVar(&options.Seeds, "seeds", chaos.DefaultSeeds, "Number of control planes in mode "+chaos.RebalanceMode+", each with its own seed.")
	flags.IntVar(&options.AtOnce, "at-once", chaos.DefaultAtOnce, "Number of these control planes to run simultaneously.")
	flags.StringVar(&options.ControlPlane, "control-plane", chaos.DefaultControlPlane, "Kind of these control planes: "+strings.Join(chaos.ControlPlaneNames(), " or ")+
		". For rke2, FAULTLINE_RKE2 names the folder with upstream's programs rke2-bootstrap and rke2-controlplane, and FAULTLINE_RKE2_RELEASE the folder of their sources.")
	flags.Func("seed", "Seed `number` of all random decisions. Defaults to a random one, which is printed.", func(value string) (err error) {
		if options.Seed, err = strconv.ParseUint(value, 10, 64); err != nil || options.Seed == 0 {
			return errors.New("must be an integer of 1 or more, as printed by an earlier run")
		}
		return nil
	})
	if err := tool.ParseFlags(flags, args); err != nil {
		return err
	}
	options.Provider = *chosen
	return chaos.Run(ctx, options)
}
