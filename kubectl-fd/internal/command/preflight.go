// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
)

// blocked is the exit code of preflight if a problem must be fixed before the takeover.
const blocked = 2

// errBlocked is returned by preflight after it has printed its output.
var errBlocked = errors.New("a finding must be fixed before the takeover")

func (r *root) preflight() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "preflight [PROVIDER...]",
		Short: "Show what would change or stop if this project's providers took over from upstream's",
		Long: `Show what would change or stop if this project's providers took over from upstream's: vsphere, metal3,
harvester and, on Harvester itself, harvester-load-balancer, or only the named ones. Nothing is changed.

It checks the installed releases, the API versions in which objects are stored and were last written, how
upstream's manager runs, and every object of the provider: what would be rejected, wait or be treated
differently. Stops must be fixed before the takeover, Check may cause a failure that only you can determine,
and Changes will be different. It does not contact vCenters, BMCs or Harvester.

Exit codes: 0 when nothing stops the change, 2 when something does, 1 after an error.`,
		Example: `  # Check vSphere
  kubectl fd preflight vsphere

  # Bare metal, with the hosts of its clusters
  kubectl fd preflight metal3

  # Harvester's machines, and its load balancers on Harvester itself
  kubectl fd preflight harvester
  kubectl fd preflight harvester-load-balancer --context my-harvester

  # For a pipeline
  kubectl fd preflight -o json`,
		ValidArgs: preflight.Names(),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := oneOf(format, "json", "yaml"); err != nil {
				return err
			}
			findings, err := r.examine(cmd, names)
			if err != nil {
				return err
			}
			if format != "" {
				err = printList(r, format, false, "Finding", findings)
			} else {
				err = render.Preflight(r.Out, findings, r.style())
			}
			if err == nil && preflight.Blocked(findings) {
				return errBlocked
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json or yaml.")
	completeFormats(cmd, "json", "yaml")
	return cmd
}

// examine examines the named providers, or the installed ones if none is named.
func (r *root) examine(cmd *cobra.Command, names []string) ([]preflight.Finding, error) {
	providers, err := preflight.Find(names)
	if err != nil {
		return nil, err
	}
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	in, err := collect.Reader{Client: c}.Installation(cmd.Context(), providers)
	if err != nil {
		return nil, err
	}
	installed := slices.DeleteFunc(slices.Clone(providers), func(p preflight.Provider) bool { return !in.Has(p) })
	if missing := len(providers) - len(installed); missing > 0 && len(names) > 0 || len(installed) == 0 {
		return nil, fmt.Errorf("no provider of %s is installed: choose another management cluster with --context, or another provider", notIn(providers, installed))
	}
	findings := []preflight.Finding{}
	for _, provider := range installed {
		findings = append(findings, preflight.Examine(provider, in)...)
	}
	return findings, nil
}

// notIn lists the providers that are not installed.
func notIn(all, installed []preflight.Provider) string {
	var names []string
	for _, p := range all {
		if !slices.ContainsFunc(installed, func(i preflight.Provider) bool { return i.Name == p.Name }) {
			names = append(names, p.Name)
		}
	}
	return collect.List(names)
}
