// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) get() *cobra.Command {
	var all, noHeaders bool
	var format, selector string
	cmd := &cobra.Command{
		Use:   "get [CLUSTER...]",
		Short: "Show clusters, their failure domains and the machines in them",
		Long: `Show clusters, their failure domains and the machines in them: the state of each domain and why, how
many machines it has and its remaining capacity, the skew of the control plane, current and planned
moves, and the machines that do not run.

In column MACHINES ◆ is a control-plane machine and ■ a worker; ◇ and □ are machines that wait,
are unhealthy or are being deleted. The stages of a deletion are Deleting, Drainable (the Node is
being drained), Drained (volumes or a hook still block it) and Terminable (the machine can be deleted).
A state with an arrow, Active→Cordoned, is requested and not reached yet.`,
		Example: `  # The clusters of a namespace
  kubectl fd get -n prod

  # One cluster with all of its machines
  kubectl fd get prod-1 -n prod -o wide

  # The domains that are not Active, in all namespaces
  kubectl fd get -A -o json | jq '.items[].failureDomains[] | select(.state != "Active")'

  # The states of one cluster's domains
  kubectl fd get prod-1 -o jsonpath='{range .items[0].failureDomains[*]}{.name} {.state}{"\n"}{end}'

  # A picture
  kubectl fd get prod-1 -o svg > prod-1.svg`,
		ValidArgsFunction: r.completeClusters(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := oneOf(format, getFormats()...); err != nil {
				return err
			}
			if selector != "" && len(names) > 0 {
				return fmt.Errorf("a cluster name cannot be combined with --selector: omit %s or -l", names[0])
			}
			clusters, err := r.reports(cmd, names, selector, all)
			if err != nil {
				return err
			}
			return r.showClusters(clusters, format, noHeaders)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the clusters of all namespaces.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Label selector of the Clusters, such as env=prod,tier!=test.")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Do not print the headers of the columns.")
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: wide, json, yaml, name, svg, jsonpath=TEMPLATE or go-template=TEMPLATE.")
	completeFormats(cmd, getFormats()...)
	return cmd
}

func getFormats() []string {
	return append([]string{"wide", "json", "yaml", "name", "svg"}, templates()...)
}

// reports reads the reports on clusters.
func (r *root) reports(cmd *cobra.Command, names []string, selector string, all bool) ([]report.Cluster, error) {
	scope, err := r.scope(names, all)
	if err != nil {
		return nil, err
	}
	if scope.Selector, err = labels.Parse(selector); err != nil {
		return nil, fmt.Errorf("invalid --selector value %q: %w", selector, err)
	}
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	clusters, err := collect.Reader{Client: c}.Reports(cmd.Context(), scope)
	if err == nil && len(clusters) == 0 {
		if selector != "" {
			return nil, fmt.Errorf("no clusters found with the labels %s: choose others with -l, another namespace with -n, or all with -A", selector)
		}
		if all {
			return nil, fmt.Errorf("no clusters found: choose another management cluster with --context or --kubeconfig")
		}
		return nil, fmt.Errorf("no clusters found in namespace %s: choose another with -n, or all with -A", scope.Namespace)
	}
	return clusters, err
}

func (r *root) showClusters(clusters []report.Cluster, format string, noHeaders bool) error {
	switch format {
	case "", "wide":
		style := r.style()
		style.NoHeaders = noHeaders
		return render.Tree(r.Out, clusters, format == "wide", style)
	case "name":
		return printNames(r, clusters)
	case "svg":
		return render.SVG(r.Out, clusters)
	}
	return printList(r, format, "ClusterFailureDomains", clusters)
}
