// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
)

func (r *root) version() *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of kubectl fd and the images of the management cluster's providers",
		Long: `Print the version of kubectl fd, and the image of each provider's manager in the management cluster.
Faultline's providers have the names of upstream's; releases before v2 are upstream's.`,
		Example: `  # Whose providers run?
  kubectl fd version

  # Without a management cluster
  kubectl fd version --client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := fmt.Fprintln(r.Out, "Client Version:", r.Version); err != nil || clientOnly {
				return err
			}
			return r.showManagers(cmd)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Print only the version of kubectl fd. Needs no management cluster.")
	return cmd
}

// showManagers prints the image of every container of the Deployments of providers.
func (r *root) showManagers(cmd *cobra.Command) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	deployments, err := collect.Reader{Client: c}.Deployments(cmd.Context())
	if err != nil {
		return err
	}
	slices.SortFunc(deployments, func(a, b unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetLabels()[clusterv1.ProviderNameLabel], b.GetLabels()[clusterv1.ProviderNameLabel]),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	w := printers.GetNewTabWriter(r.Out)
	_, _ = fmt.Fprintln(w, "PROVIDER\tNAMESPACE\tIMAGE")
	for _, deployment := range deployments {
		containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", deployment.GetLabels()[clusterv1.ProviderNameLabel], deployment.GetNamespace(), fields["image"])
		}
	}
	return w.Flush()
}
