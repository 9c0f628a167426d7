// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) simulate() *cobra.Command {
	var all bool
	var format string
	var lost []string
	cmd := &cobra.Command{
		Use:   "simulate --lose NAME[,NAME...] [CLUSTER...]",
		Short: "Show the effect of losing failure domains",
		Long: `Show the effect of losing failure domains: which clusters keep their quorum, which machines and how much
capacity would be lost, and where replacements could be placed. Nothing is changed.

The output has the clusters that list one of the failure domains, and those that still have machines in one
that they do not list any more.

Each control-plane machine with a Node counts as one vote; unhealthy machines and those being deleted count
as members that do not work. An external etcd is not considered. Clusters of the same namespace and kind of
infrastructure share the capacity of failure domains with the same name; control planes are placed first.
On bare metal, capacity is free hosts that match the hostSelector of the lost machine.
The output shows possible placements only: you or a MachineHealthCheck replace machines.

Exit codes: 0 when all clusters keep their quorum, 2 when one would not, 1 after an error.`,
		Example: `  # Can this rack be powered off?
  kubectl fd simulate --lose rack-2 -A

  # Two racks, one cluster
  kubectl fd simulate --lose rack-1,rack-2 prod-1 -n prod`,
		ValidArgsFunction: r.completeClusters(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(lost) == 0 {
				return errors.New("--lose must name at least one failure domain")
			}
			if err := oneOf(format, "json", "yaml"); err != nil {
				return err
			}
			clusters, err := r.reports(cmd, names, "", all)
			if err != nil {
				return err
			}
			c, err := r.client()
			if err != nil {
				return err
			}
			if err := collect.Capacity(cmd.Context(), c, clusters, lost); err != nil {
				return err
			}
			outcomes, err := report.Lose(clusters, lost)
			if err != nil {
				return err
			}
			return r.showOutcomes(outcomes, format)
		},
	}
	cmd.Flags().StringSliceVar(&lost, "lose", nil, "Comma-separated failure domains to lose.")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the clusters of all namespaces.")
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json or yaml.")
	completeFormats(cmd, "json", "yaml")
	_ = cmd.RegisterFlagCompletionFunc("lose", func(cmd *cobra.Command, names []string, _ string) ([]string, cobra.ShellCompDirective) {
		return r.domainNames(cmd, names, report.Cluster.AllDomainNames), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (r *root) showOutcomes(outcomes []report.Outcome, format string) error {
	var err error
	if format != "" {
		err = printList(r, format, false, "Outcome", outcomes)
	} else {
		err = render.Simulation(r.Out, outcomes, r.style())
	}
	if err == nil && !report.KeepQuorum(outcomes) {
		return errQuorumLost
	}
	return err
}
