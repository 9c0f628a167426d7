// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
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
}

const stateLong = `

The state is applied to spec.distribution.failureDomains of the infrastructure cluster with field manager
kubectl-fd, which owns only the entries that it created. An entry of another field manager, for example a
pipeline, is rejected: change it at its source, or take it over with --force-conflicts.

An infrastructure cluster of a ClusterClass keeps the entry, because the topology controller leaves fields
alone that the class does not set. An entry that the class sets is rejected, because the topology controller
would restore it: change it in the class or in a variable of the Cluster.`

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
	cmd.ValidArgsFunction = s.completeDomains
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return fmt.Errorf("a cluster and its failure domains must be named: kubectl fd %s", cmd.Use)
		}
		if err := s.validate(cmd); err != nil {
			return err
		}
		return s.run(cmd, args[0], args[1:])
	}
	flags := cmd.Flags()
	flags.StringVar(&s.dryRun, "dry-run", "none", "Dry run: none, client (only print the object that would be applied) or server (let the API server validate it without storing it).")
	flags.StringVarP(&s.format, "output", "o", "", "Output format: json, yaml or name. With --dry-run=client, the output is the object that would be applied.")
	flags.BoolVar(&s.wait, "wait", false, s.waitsFor)
	flags.DurationVar(&s.timeout, "timeout", cmp.Or(s.timeout, timeout), "Time to wait before giving up.")
	flags.BoolVar(&s.force, "force-conflicts", false, "Take over entries that belong to another field manager.")
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
	}
	return oneOf(s.format, "json", "yaml", "name")
}

func (s *stateCommand) run(cmd *cobra.Command, cluster string, domains []string) error {
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	w := writer{client: c, force: s.force, dryRun: s.dryRun}
	result, err := w.write(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: cluster}, domains, s.state)
	if err != nil {
		return err
	}
	for _, domain := range result.domains {
		if err := s.show(result.object, domain); err != nil {
			return err
		}
	}
	if s.format == "json" || s.format == "yaml" {
		printer, err := (&genericclioptions.JSONYamlPrintFlags{}).ToPrinter(s.format)
		if err != nil {
			return err
		}
		return printer.PrintObj(result.object, s.Out)
	}
	if s.state == faultlinev1.DomainEvicting {
		e := evictionWaiter{reader: collect.Reader{Client: c}, cluster: client.ObjectKey{Namespace: namespace, Name: cluster}, domains: domains}
		return s.follow(cmd.Context(), e)
	}
	if !s.wait {
		return nil
	}
	return w.wait(cmd.Context(), result.object, domains, s.state, s.timeout)
}

// follow observes failure domains that are being emptied.
func (s *stateCommand) follow(ctx context.Context, e evictionWaiter) error {
	if s.wait {
		return e.wait(ctx, s.timeout)
	}
	e.note(ctx, s.ErrOut)
	return nil
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
