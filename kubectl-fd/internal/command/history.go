// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) history() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "history CLUSTER",
		Short: "Show what has happened to the failure domains of a cluster",
		Long: `Show what has happened to the failure domains of a cluster, the oldest first: the events of its
infrastructure cluster, which API servers keep for an hour, the last change of each failure domain's state,
and the last and the current move.`,
		Example: `  # The history of a cluster
  kubectl fd history prod-1 -n prod`,
		Args:              exactly(1, "a cluster must be named: kubectl fd history CLUSTER"),
		ValidArgsFunction: r.completeClusters(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := oneOf(format, "json", "yaml"); err != nil {
				return err
			}
			entries, err := r.entries(cmd, names[0])
			if err != nil {
				return err
			}
			if format != "" {
				return printList(r, format, false, "Entry", entries)
			}
			return render.History(r.Out, entries, r.style())
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json or yaml.")
	completeFormats(cmd, "json", "yaml")
	return cmd
}

func (r *root) entries(cmd *cobra.Command, name string) ([]report.Entry, error) {
	scope, err := r.scope([]string{name}, false)
	if err != nil {
		return nil, err
	}
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	reader := collect.Reader{Client: c}
	seen, err := reader.Observe(cmd.Context(), scope)
	if err != nil {
		return nil, err
	}
	cluster := report.Of(seen[0])
	if seen[0].Infrastructure == nil {
		return nil, fmt.Errorf("Cluster %s has no history: %s", name, cluster.Problem)
	}
	events, err := reader.Events(cmd.Context(), seen[0].Infrastructure)
	if err != nil {
		return nil, err
	}
	return report.History(cluster, events), nil
}
