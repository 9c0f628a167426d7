// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// completeClusters completes the names of clusters, up to most of them if most is greater than 0.
func (r *root) completeClusters(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return without(r.clusterNames(cmd), given), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeDomains completes the name of a cluster, unless flags select clusters, and then those of failure domains.
func (r *root) completeDomains(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if cmd.Flags().Changed("all-clusters") || cmd.Flags().Changed("clusters") {
		return without(r.domainNames(cmd, nil, report.Cluster.DomainNames), given), cobra.ShellCompDirectiveNoFileComp
	}
	if len(given) == 0 {
		return r.clusterNames(cmd), cobra.ShellCompDirectiveNoFileComp
	}
	return without(r.domainNames(cmd, given[:1], report.Cluster.DomainNames), given[1:]), cobra.ShellCompDirectiveNoFileComp
}

func without(names, given []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) })
}

// clusterNames lists the clusters in the namespace; none if they cannot be read.
func (r *root) clusterNames(cmd *cobra.Command) []string {
	c, err := r.client()
	if err != nil {
		return nil
	}
	scope, err := r.scope(nil, false)
	if err != nil {
		return nil
	}
	clusters, err := collect.Reader{Client: c}.Clusters(cmd.Context(), scope)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(clusters))
	for i := range clusters {
		names = append(names, clusters[i].Name)
	}
	return names
}

// domainNames lists the names that of returns for the clusters, or for all in the namespace if none is given.
func (r *root) domainNames(cmd *cobra.Command, clusters []string, of func(report.Cluster) []string) []string {
	reports, err := r.reports(cmd, clusters, "", false)
	if err != nil {
		return nil
	}
	var names []string
	for _, cluster := range reports {
		names = append(names, of(cluster)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// completeFormats completes the --output flag.
func completeFormats(cmd *cobra.Command, formats ...string) {
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}
