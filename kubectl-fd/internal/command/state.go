// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// timeout is the default timeout of --wait. defaultEvictTimeout is that for failure domains to become empty: machines are replaced one
// after the other, and a bare-metal host takes half an hour.
const (
	timeout             = 5 * time.Minute
	defaultEvictTimeout = time.Hour
)

// stateCommand is a command that sets the state of failure domains.
type stateCommand struct {
	*root
	state faultlinev1.DomainState
	// done is the result in the output, such as cordoned.
	done string
	// waitsFor describes the effect of --wait.
	waitsFor string
	dryRun   string
	format   string
	wait     bool
	force    bool
	timeout  time.Duration
	// name is the name of the command, reason why the user sets the state.
	name, reason string
	// clusters, allClusters, allNamespaces and selector select several clusters, yes answers the question about them.
	clusters                        []string
	allClusters, allNamespaces, yes bool
	selector                        string
}

const stateLong = `

The state is applied to spec.distribution.failureDomains of the infrastructure cluster with field manager
kubectl-fd, which owns only the entries that it created. An entry of another field manager, for example a
pipeline, is rejected: change it at its source, or take it over with --force-conflicts.

An infrastructure cluster of a ClusterClass keeps the entry, because the topology controller leaves fields
alone that the class does not set. An entry that the class sets is rejected, because the topology controller
would restore it: change it in the class or in a variable of the Cluster.

With --clusters or --all-clusters all arguments are failure domains. The command lists what it sets, and asks.
--reason records your user name, the time and the reason in an annotation; get and history show them.`

// maxReason is the maximum length of a reason.
const maxReason = 256

const untilState = "Wait until the status reports the state."

// stateCommands returns the commands that set states.
func (r *root) stateCommands() []*cobra.Command {
	return []*cobra.Command{
		(&stateCommand{root: r, state: faultlinev1.DomainCordoned, done: "cordoned", waitsFor: untilState}).command(cobra.Command{
			Use:   "cordon CLUSTER DOMAIN...",
			Short: "Keep new machines out of failure domains",
			Long: `Keep new machines out of failure domains. Existing machines stay. The domains are not published for
control planes any more, except for the last one.` + stateLong,
			Example: `  # Keep new machines out of rack-2
  kubectl fd cordon prod-1 rack-2 -n prod

  # Keep new machines out of rack-2 in all clusters, and record why
  kubectl fd cordon --all-clusters -A rack-2 --reason="power supplies are replaced"

  # Show the object that the API server would store
  kubectl fd cordon prod-1 rack-2 --dry-run=server -o yaml`,
		}),
		(&stateCommand{
			root: r, state: faultlinev1.DomainEvicting, done: "evicting", timeout: defaultEvictTimeout,
			waitsFor: "Wait until the failure domains have no machines. Fail immediately if no controller will move one of them.",
		}).command(cobra.Command{
			Use: "evict CLUSTER DOMAIN...", SuggestFor: []string{"drain"},
			Short: "Empty failure domains",
			Long: `Empty failure domains: they get no new machines, and their machines are moved to other domains. The moves
are enabled by spec.distribution.controlPlane.rebalance and spec.distribution.workers.rebalance; a note names
the machines that no controller will move, and the field to change. kubectl fd plan shows the progress.

--wait waits until the domains have no machines. It fails immediately, with the reason, if no controller
will move one of them.` + stateLong,
			Example: `  # Empty rack-2, and show the remaining moves
  kubectl fd evict prod-1 rack-2 -n prod --wait
  kubectl fd plan prod-1 -n prod`,
		}),
		(&stateCommand{root: r, state: faultlinev1.DomainActive, done: "activated", waitsFor: untilState}).command(cobra.Command{
			Use: "activate CLUSTER DOMAIN...", Aliases: []string{"uncordon"},
			Short: "Use failure domains again that were cordoned or evicted",
			Long: `Use failure domains again that were cordoned or evicted: the entry is set to Active instead of being removed,
so that its owner stays visible. A domain without an entry is Active by default, and nothing is written.
Active does not override health: an unhealthy domain stays cordoned until it has been healthy for the hold
period.` + stateLong,
			Example: `  # rack-2 has recovered
  kubectl fd activate prod-1 rack-2 -n prod --wait`,
		}),
	}
}

func (s *stateCommand) command(cmd cobra.Command) *cobra.Command {
	s.name = cmd.Name()
	cmd.ValidArgsFunction = s.completeDomains
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.validateSelection(args); err != nil {
			return err
		}
		if err := s.validate(cmd); err != nil {
			return err
		}
		return s.run(cmd, args)
	}
	flags := cmd.Flags()
	flags.StringVar(&s.dryRun, "dry-run", "none", "Dry run: none, client (only print the object that would be applied) or server (let the API server validate it without storing it).")
	flags.StringVarP(&s.format, "output", "o", "", "Output format: json, yaml or name. With --dry-run=client, the output is the object that would be applied.")
	flags.BoolVar(&s.wait, "wait", false, s.waitsFor)
	flags.DurationVar(&s.timeout, "timeout", cmp.Or(s.timeout, timeout), "Time to wait before giving up.")
	flags.BoolVar(&s.force, "force-conflicts", false, "Take over entries that belong to another field manager.")
	flags.StringVar(&s.reason, "reason", "", "Why the state is set. It is recorded with your user name and the time.")
	flags.StringSliceVar(&s.clusters, "clusters", nil, "Set the failure domains of these clusters.")
	flags.BoolVar(&s.allClusters, "all-clusters", false, "Set the failure domains of all clusters in the namespace that have them.")
	flags.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "With --all-clusters: the clusters of all namespaces.")
	flags.StringVarP(&s.selector, "selector", "l", "", "With --all-clusters: only Clusters with these labels, such as env=prod,tier!=test.")
	flags.BoolVarP(&s.yes, "yes", "y", false, "With --clusters or --all-clusters: do not ask before the failure domains are set.")
	completeFormats(&cmd, "json", "yaml", "name")
	_ = cmd.RegisterFlagCompletionFunc("dry-run",
		cobra.FixedCompletions([]string{"none", "client", "server"}, cobra.ShellCompDirectiveNoFileComp))
	return &cmd
}

// validate rejects contradictory flags.
func (s *stateCommand) validate(cmd *cobra.Command) error {
	switch s.dryRun {
	case "none", "client", "server":
	default:
		return fmt.Errorf("invalid --dry-run value %q: must be one of none, client, server", s.dryRun)
	}
	switch {
	case s.wait && s.dryRun != "none":
		return errors.New("--wait cannot be combined with --dry-run: omit one of them")
	case cmd.Flags().Changed("timeout") && !s.wait:
		return errors.New("--timeout requires --wait: set --wait too")
	case s.timeout <= 0:
		return errors.New("--timeout must be greater than 0")
	case len(s.reason) > maxReason || strings.ContainsFunc(s.reason, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("invalid --reason: must be one line of printable characters, at most %d bytes", maxReason)
	}
	return oneOf(s.format, "json", "yaml", "name")
}

func (s *stateCommand) run(cmd *cobra.Command, args []string) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	targets, err := s.targets(cmd.Context(), c, args)
	if err != nil {
		return err
	}
	if err := s.confirm(targets); err != nil {
		return err
	}
	w := writer{client: c, force: s.force, dryRun: s.dryRun}
	if s.reason != "" {
		w.request = &report.Request{State: s.state, By: userName(cmd.Context(), c), Time: metav1.NewTime(s.Now()), Reason: s.reason}
	}
	errs := make([]error, len(targets))
	var waits sync.WaitGroup
	for i, t := range targets {
		object, err := s.set(cmd.Context(), w, t)
		if errs[i] = err; err == nil && s.format != "json" && s.format != "yaml" {
			waits.Go(func() { errs[i] = s.follow(cmd.Context(), w, t, object) })
		}
	}
	waits.Wait()
	return joinClusters(targets, errs)
}

// set writes the state to one cluster, and prints the result.
func (s *stateCommand) set(ctx context.Context, w writer, t target) (*unstructured.Unstructured, error) {
	result, err := w.write(ctx, t.cluster, t.domains, s.state)
	if err != nil {
		return nil, err
	}
	for _, domain := range result.domains {
		if err := s.show(result.object, domain); err != nil {
			return nil, err
		}
	}
	if s.format != "json" && s.format != "yaml" {
		return result.object, nil
	}
	if s.several() && s.format == "yaml" {
		_, _ = fmt.Fprintln(s.Out, "---")
	}
	printer, err := (&genericclioptions.JSONYamlPrintFlags{}).ToPrinter(s.format)
	if err != nil {
		return nil, err
	}
	return result.object, printer.PrintObj(result.object, s.Out)
}

// userName returns the name of the user as the API server knows it, "" if it does not return one.
func userName(ctx context.Context, c client.Client) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// follow waits for the state, or, for failure domains that are being emptied, observes their machines.
func (s *stateCommand) follow(ctx context.Context, w writer, t target, object *unstructured.Unstructured) error {
	if s.state == faultlinev1.DomainEvicting {
		e, reader := evictionWaiter{cluster: t.cluster, domains: t.domains}, collect.Reader{Client: w.client}
		if s.wait {
			return e.wait(ctx, s.root, reader, s.timeout)
		}
		e.note(ctx, reader, s.ErrOut)
		return nil
	}
	if !s.wait {
		return nil
	}
	return w.wait(ctx, object, t.domains, s.state, s.timeout)
}

// show prints the result for one domain.
func (s *stateCommand) show(object *unstructured.Unstructured, domain changed) error {
	if domain.note != "" {
		_, _ = fmt.Fprintln(s.ErrOut, domain.note)
	}
	switch s.format {
	case "json", "yaml":
		return nil
	case "name":
		return (&printers.NamePrinter{}).PrintObj(object, s.Out)
	}
	operation := fmt.Sprintf("failure domain %s %s", domain.name, s.done)
	if domain.unchanged {
		operation = fmt.Sprintf("failure domain %s unchanged", domain.name)
	}
	switch s.dryRun {
	case "client":
		operation += " (dry run)"
	case "server":
		operation += " (server dry run)"
	}
	return (&printers.NamePrinter{Operation: operation}).PrintObj(runtime.Object(object), s.Out)
}
