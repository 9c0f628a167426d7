// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/faultline-io/faultline/kubectl-fd/internal/read"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) simulate() *cobra.Command {
	var all bool
	var format string
	var lost []string
	cmd := &cobra.Command{
		Use:   "simulate --lose NAME[,NAME...] [CLUSTER...]",
		Short: "Show what the loss of failure domains would do",
		Long: `Show what the loss of failure domains would do: which clusters keep their quorum, which machines and
how much room would be lost, and where the lost machines could be placed again. Nothing is changed.

A cluster is shown that lists one of the failure domains, or still has machines in one that it does not
list any more.

Each control-plane machine that has a Node counts as one vote, and those that are unhealthy or are being
deleted do not work; an etcd outside of the cluster is not seen. Clusters of one namespace and one kind
of infrastructure share the room of failure domains of the same name; control planes are placed first.
On bare metal a place is a free host that the hostSelector of the lost machine selects.
It shows what could be placed, not what will be: a MachineHealthCheck or you replace machines.

Exit codes: 0 when all clusters keep their quorum, 2 when one would not, 1 after an error.`,
		Example: `  # May this rack be switched off?
  kubectl fd simulate --lose rack-2 -A

  # Two racks, one cluster
  kubectl fd simulate --lose rack-1,rack-2 prod-1 -n prod`,
		ValidArgsFunction: r.completeClusters(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(lost) == 0 {
				return errors.New("no failure domain is lost: name those that are with --lose")
			}
			if err := oneOf(format, "json", "yaml"); err != nil {
				return err
			}
			clusters, err := r.reports(cmd, names, all)
			if err != nil {
				return err
			}
			c, err := r.client()
			if err != nil {
				return err
			}
			if err := read.Room(cmd.Context(), c, clusters, lost); err != nil {
				return err
			}
			outcomes, err := report.Lose(clusters, lost)
			if err != nil {
				return err
			}
			return r.showOutcomes(outcomes, format)
		},
	}
	cmd.Flags().StringSliceVar(&lost, "lose", nil, "The failure domains that are lost")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "The clusters of all namespaces")
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json or yaml")
	completeFormats(cmd, "json", "yaml")
	_ = cmd.RegisterFlagCompletionFunc("lose", func(cmd *cobra.Command, names []string, _ string) ([]string, cobra.ShellCompDirective) {
		return r.domainNames(cmd, names, report.Cluster.Places), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (r *root) showOutcomes(outcomes []report.Outcome, format string) error {
	var err error
	if format != "" {
		err = printList(r, format, "Outcome", outcomes)
	} else {
		err = render.Simulation(r.Out, outcomes, r.style())
	}
	if err == nil && !report.KeepQuorum(outcomes) {
		return errQuorumLost
	}
	return err
}
