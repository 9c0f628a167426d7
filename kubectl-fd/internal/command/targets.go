// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
)

// target is a cluster whose failure domains are set.
type target struct {
	cluster client.ObjectKey
	domains []string
	// before lists the failure domains with their requested states; it is only set for several clusters.
	before []string
}

// several reports whether the flags select clusters, so that all arguments are failure domains.
func (s *stateCommand) several() bool { return s.allClusters || len(s.clusters) > 0 }

// domainArguments are the arguments in a usage line.
const domainArguments = "DOMAIN..."

// validateSelection rejects contradictory flags and arguments that select clusters.
func (s *stateCommand) validateSelection(args []string) error {
	switch {
	case s.allClusters && len(s.clusters) > 0:
		return errors.New("--clusters cannot be combined with --all-clusters: omit one of them")
	case (s.allNamespaces || s.selector != "") && !s.allClusters:
		return errors.New("--all-namespaces and --selector require --all-clusters: set it too")
	case s.yes && !s.several():
		return errors.New("--yes requires --clusters or --all-clusters: one cluster is set without a question")
	case s.several() && len(args) == 0:
		return fmt.Errorf("the failure domains must be named: kubectl fd %s --all-clusters %s", s.name, domainArguments)
	case !s.several() && len(args) < 2:
		return fmt.Errorf("a cluster and its failure domains must be named: kubectl fd %s CLUSTER %s", s.name, domainArguments)
	}
	return nil
}

// targets returns the clusters selected by the arguments and flags.
func (s *stateCommand) targets(ctx context.Context, c client.Client, args []string) ([]target, error) {
	if !s.several() {
		namespace, err := s.namespace()
		return []target{{cluster: client.ObjectKey{Namespace: namespace, Name: args[0]}, domains: args[1:]}}, err
	}
	scope, err := s.scope(s.clusters, s.allNamespaces)
	if err != nil {
		return nil, err
	}
	if scope.Selector, err = labels.Parse(s.selector); err != nil {
		return nil, fmt.Errorf("invalid --selector value %q: %w", s.selector, err)
	}
	found, err := collect.Reader{Client: c}.Targets(ctx, scope)
	if err != nil {
		return nil, err
	}
	return s.choose(found, args)
}

// choose returns the clusters that have failure domains. A named cluster must have all of them. Each of them must be in a cluster, because
// an unknown name is more likely a mistake than an empty set.
func (s *stateCommand) choose(found []collect.Target, domains []string) ([]target, error) {
	var targets []target
	var all []string
	for _, f := range found {
		if f.Infrastructure == nil {
			if s.allClusters {
				continue
			}
			return nil, fmt.Errorf("Cluster %s cannot be used: %s", f.Cluster.Name, f.Problem)
		}
		t, names := target{cluster: f.Cluster}, knownDomains(f.Infrastructure)
		if !s.allClusters {
			if err := known(f.Infrastructure, domains); err != nil {
				return nil, err
			}
		}
		all = append(all, names...)
		for _, domain := range domains {
			if slices.Contains(names, domain) {
				t.domains = append(t.domains, domain)
				t.before = append(t.before, fmt.Sprintf("%s (%s)", domain, wantedState(f.Infrastructure, domain)))
			}
		}
		if len(t.domains) > 0 {
			targets = append(targets, t)
		}
	}
	slices.Sort(all)
	for _, domain := range domains {
		if !slices.Contains(all, domain) {
			return nil, fmt.Errorf("no selected cluster has failure domain %s: choose one of %s, or other clusters", domain, collect.List(slices.Compact(all)))
		}
	}
	return targets, nil
}

// confirm lists what is going to be set in several clusters, and asks the user. Dry runs are not asked about.
func (s *stateCommand) confirm(targets []target) error {
	if !s.several() || s.dryRun != "none" {
		return nil
	}
	for _, t := range targets {
		_, _ = fmt.Fprintf(s.ErrOut, "Cluster %s: %s\n", t.cluster, strings.Join(t.before, ", "))
	}
	if s.yes {
		return nil
	}
	_, _ = fmt.Fprintf(s.ErrOut, "Set them to %s? [y/N] ", s.state)
	answer, _ := bufio.NewReader(s.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed: answer y, or set --yes")
}

// joinClusters joins the errors of clusters in one line. That of a single cluster is returned unchanged.
func joinClusters(targets []target, errs []error) error {
	if len(targets) == 1 {
		return errs[0]
	}
	var lines []string
	for i, err := range errs {
		if err != nil {
			lines = append(lines, fmt.Sprintf("Cluster %s: %v", targets[i].cluster, err))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d clusters failed: %s", len(lines), len(targets), strings.Join(lines, "; "))
}
