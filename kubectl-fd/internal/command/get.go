// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) get() *cobra.Command {
	var all, noHeaders, watch bool
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

  # The clusters as they change
  kubectl fd get -A -w

  # Columns of your choice
  kubectl fd get -A -o custom-columns=NAME:.name,SKEW:.controlPlaneSkew,STATES:.failureDomains[*].state

  # A picture
  kubectl fd get prod-1 -o svg > prod-1.svg`,
		ValidArgsFunction: r.completeClusters(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := validateGet(names, format, selector, watch); err != nil {
				return err
			}
			if watch {
				scope, err := r.selected(names, selector, all)
				if err != nil {
					return err
				}
				return r.watchClusters(cmd, scope, format, noHeaders)
			}
			clusters, err := r.reports(cmd, names, selector, all)
			if err != nil {
				return err
			}
			return r.showClusters(clusters, format, noHeaders)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Show the clusters of all namespaces.")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Show the clusters, then each cluster that changes, until you press Ctrl-C.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Label selector of the Clusters, such as env=prod,tier!=test.")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Do not print the headers of the columns.")
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: wide, json, yaml, name, svg, jsonpath=TEMPLATE, go-template=TEMPLATE or custom-columns=HEADER:PATH,...")
	completeFormats(cmd, getFormats()...)
	return cmd
}

// reportKind is the kind of a cluster in the output.
const reportKind = "ClusterFailureDomains"

func getFormats() []string {
	return append([]string{"wide", "json", "yaml", "name", "svg"}, templates()...)
}

// validateGet rejects contradictory flags and arguments.
func validateGet(names []string, format, selector string, watch bool) error {
	switch {
	case watch && format == "svg":
		return errors.New("--watch cannot be combined with -o svg: omit one of them")
	case selector != "" && len(names) > 0:
		return fmt.Errorf("a cluster name cannot be combined with --selector: omit %s or -l", names[0])
	}
	return oneOf(format, getFormats()...)
}

// selected returns the clusters selected by the arguments and flags.
func (r *root) selected(names []string, selector string, all bool) (collect.Scope, error) {
	scope, err := r.scope(names, all)
	if err != nil {
		return scope, err
	}
	if scope.Selector, err = labels.Parse(selector); err != nil {
		return scope, fmt.Errorf("invalid --selector value %q: %w", selector, err)
	}
	return scope, nil
}

// reports reads the reports on clusters.
func (r *root) reports(cmd *cobra.Command, names []string, selector string, all bool) ([]report.Cluster, error) {
	scope, err := r.selected(names, selector, all)
	if err != nil {
		return nil, err
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
	return printList(r, format, noHeaders, reportKind, clusters)
}

// watchClusters shows the clusters, and each again that changes, until the user interrupts it.
func (r *root) watchClusters(cmd *cobra.Command, scope collect.Scope, format string, noHeaders bool) error {
	config, options, err := r.connection()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	shown := map[client.ObjectKey]report.Cluster{}
	return collect.Watch(ctx, config, options, scope.Namespace, func(ctx context.Context, reader collect.Reader) error {
		clusters, err := reader.Reports(ctx, scope)
		if err != nil {
			return err
		}
		changed, gone := changes(shown, clusters)
		for _, key := range gone {
			_, _ = fmt.Fprintf(r.ErrOut, "Cluster %s was deleted\n", key)
		}
		if len(changed) == 0 {
			return nil
		}
		err = r.showChanges(changed, format, noHeaders)
		noHeaders = true
		return err
	})
}

// changes returns the clusters that differ from those shown before, and those that no longer exist. It updates shown.
func changes(shown map[client.ObjectKey]report.Cluster, clusters []report.Cluster) (changed []report.Cluster, gone []client.ObjectKey) {
	exists := map[client.ObjectKey]bool{}
	for _, cluster := range clusters {
		key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name}
		exists[key] = true
		if before, known := shown[key]; !known || !equality.Semantic.DeepEqual(before, cluster) {
			changed, shown[key] = append(changed, cluster), cluster
		}
	}
	for key := range shown {
		if !exists[key] {
			gone = append(gone, key)
			delete(shown, key)
		}
	}
	slices.SortFunc(gone, func(a, b client.ObjectKey) int { return cmp.Compare(a.String(), b.String()) })
	return changed, gone
}

// showChanges shows clusters like showClusters, but each as an object of its own instead of a list, as kubectl does with --watch.
func (r *root) showChanges(clusters []report.Cluster, format string, noHeaders bool) error {
	switch format {
	case "", "wide", "name":
		return r.showClusters(clusters, format, noHeaders)
	}
	printer, err := printerFor(format, noHeaders)
	if err != nil {
		return err
	}
	for i := range clusters {
		object, err := outputObject(reportKind, &clusters[i])
		if err != nil {
			return err
		}
		if format == "yaml" {
			_, _ = fmt.Fprintln(r.Out, "---")
		}
		if err := printer.PrintObj(object, r.Out); err != nil {
			return err
		}
	}
	return nil
}
