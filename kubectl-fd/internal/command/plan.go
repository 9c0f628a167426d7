// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

func (r *root) plan() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "plan CLUSTER",
		Short: "Show which machines should be in other failure domains, and why they are moved or not",
		Long: `Show which machines should be in other failure domains, and why they are moved or not.

The plan is the controllers' if status.distribution of the infrastructure cluster has one, with the
condition ControlPlaneBalanced or WorkersBalanced that explains it. Otherwise, the plan is calculated
here with the same planner. The headline names the source.`,
		Example: `  # The misplaced machines
  kubectl fd plan prod-1 -n prod

  # The same, for a script
  kubectl fd plan prod-1 -o json | jq '.items[].moves'`,
		Args:              exactly(1, "a cluster must be named: kubectl fd plan CLUSTER"),
		ValidArgsFunction: r.completeClusters(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := oneOf(format, "json", "yaml"); err != nil {
				return err
			}
			cluster, plans, err := r.plans(cmd, names[0])
			if err != nil {
				return err
			}
			if format != "" {
				return printList(r, format, false, "Plan", plans)
			}
			return render.Plan(r.Out, cluster, plans, r.style())
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json or yaml.")
	completeFormats(cmd, "json", "yaml")
	return cmd
}

func (r *root) plans(cmd *cobra.Command, name string) (report.Cluster, []report.Plan, error) {
	scope, err := r.scope([]string{name}, false)
	if err != nil {
		return report.Cluster{}, nil, err
	}
	c, err := r.client()
	if err != nil {
		return report.Cluster{}, nil, err
	}
	reader := collect.Reader{Client: c}
	clusters, err := reader.Reports(cmd.Context(), scope)
	if err != nil {
		return report.Cluster{}, nil, err
	}
	cluster := clusters[0]
	if len(cluster.DomainNames()) == 0 {
		return report.Cluster{}, nil, fmt.Errorf("Cluster %s cannot be planned: %s", name, cluster.Problem)
	}
	all, err := deployments(cmd.Context(), reader, client.ObjectKey{Namespace: scope.Namespace, Name: name})
	return cluster, report.Plans(cluster, all), err
}

// deployments reads the MachineDeployments of a cluster.
func deployments(ctx context.Context, reader collect.Reader, cluster client.ObjectKey) ([]report.Deployment, error) {
	found, err := reader.MachineDeployments(ctx, cluster)
	all := make([]report.Deployment, 0, len(found))
	for i := range found {
		deployment := report.Deployment{Name: found[i].Name, Named: found[i].Spec.Template.Spec.FailureDomain}
		if replicas := found[i].Spec.Replicas; replicas != nil {
			deployment.Replicas = int(*replicas)
		}
		all = append(all, deployment)
	}
	return all, err
}

// exactly returns an argument check that fails with the message unless there are n arguments.
func exactly(n int, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s", message)
		}
		return nil
	}
}
