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

	"github.com/faultline-io/faultline/kubectl-fd/internal/read"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// patience is the default timeout of --wait. emptyPatience is that for failure domains to become empty: machines are replaced one
// after the other, and a bare-metal host takes half an hour.
const (
	patience      = 5 * time.Minute
	emptyPatience = time.Hour
)

// setIntent is a command that sets the state of failure domains.
type setIntent struct {
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

const intentLong = `

The state is applied to spec.distribution.failureDomains of the infrastructure cluster with field manager
kubectl-fd, which owns the entries that it made and no others. An entry that belongs to somebody else, a
pipeline for example, is refused: change it where it comes from, or take it over with --force-conflicts.

An infrastructure cluster that is made of a ClusterClass keeps such an entry: the topology controller applies
what the class says and leaves other fields alone. An entry that the class itself has is the exception: the
topology controller takes it back, so change it in the class or in a variable of the Cluster.`

const untilState = "Wait until the status has the state"

// intents returns the commands that set states.
func (r *root) intents() []*cobra.Command {
	return []*cobra.Command{
		(&setIntent{root: r, state: faultlinev1.DomainCordoned, done: "cordoned", waitsFor: untilState}).command(cobra.Command{
			Use:   "cordon CLUSTER DOMAIN...",
			Short: "Keep new machines out of failure domains",
			Long: `Keep new machines out of failure domains. The machines that are in them stay. The domains are no longer
published for control planes, but for the last that is left.` + intentLong,
			Example: `  # Nothing new goes to rack-2
  kubectl fd cordon prod-1 rack-2 -n prod

  # What would be written, as the API server would have it
  kubectl fd cordon prod-1 rack-2 --dry-run=server -o yaml`,
		}),
		(&setIntent{
			root: r, state: faultlinev1.DomainEvicting, done: "evicting", timeout: emptyPatience,
			waitsFor: "Wait until the failure domains have no machines; fail at once if nothing is going to move one of them",
		}).command(cobra.Command{
			Use: "evict CLUSTER DOMAIN...", SuggestFor: []string{"drain"},
			Short: "Empty failure domains",
			Long: `Have failure domains emptied: nothing new goes there, and their machines are to be moved elsewhere. What
moves them is spec.distribution.controlPlane.rebalance and spec.distribution.workers.rebalance; a note names
the machines that nothing is going to move, and the field to change. kubectl fd plan shows what happens.

--wait waits until the domains have no machines. It fails at once, with the reason, if nothing is going to
move one of them.` + intentLong,
			Example: `  # Empty rack-2, and watch how far it has come
  kubectl fd evict prod-1 rack-2 -n prod --wait
  kubectl fd plan prod-1 -n prod`,
		}),
		(&setIntent{root: r, state: faultlinev1.DomainActive, done: "activated", waitsFor: untilState}).command(cobra.Command{
			Use: "activate CLUSTER DOMAIN...", Aliases: []string{"uncordon"},
			Short: "Use failure domains again that were cordoned or evicted",
			Long: `Use failure domains again that were cordoned or evicted: the entry is set to Active, and stays so that it can
be seen who did it. A domain without an entry is meant to be Active already, and nothing is written. Active
does not overrule bad health: a domain that is cordoned for it has to be repaired, and to be healthy for the
hold period.` + intentLong,
			Example: `  # rack-2 is back
  kubectl fd activate prod-1 rack-2 -n prod --wait`,
		}),
	}
}

func (s *setIntent) command(cmd cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = s.completeDomains
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return fmt.Errorf("name the cluster and its failure domains: kubectl fd %s", cmd.Use)
		}
		if err := s.validate(cmd); err != nil {
			return err
		}
		return s.run(cmd, args[0], args[1:])
	}
	flags := cmd.Flags()
	flags.StringVar(&s.dryRun, "dry-run", "none", "none, client (only print what would be applied) or server (have the API server check it, and change nothing)")
	flags.StringVarP(&s.format, "output", "o", "", "Output format: json, yaml or name; with --dry-run=client it is what would be applied")
	flags.BoolVar(&s.wait, "wait", false, s.waitsFor)
	flags.DurationVar(&s.timeout, "timeout", cmp.Or(s.timeout, patience), "How long to wait")
	flags.BoolVar(&s.force, "force-conflicts", false, "Take over entries that belong to another field manager")
	completeFormats(&cmd, "json", "yaml", "name")
	_ = cmd.RegisterFlagCompletionFunc("dry-run",
		cobra.FixedCompletions([]string{"none", "client", "server"}, cobra.ShellCompDirectiveNoFileComp))
	return &cmd
}

// validate rejects contradictory flags.
func (s *setIntent) validate(cmd *cobra.Command) error {
	switch s.dryRun {
	case "none", "client", "server":
	default:
		return fmt.Errorf("there is no dry run %q: choose one of none, client, server", s.dryRun)
	}
	switch {
	case s.wait && s.dryRun != "none":
		return errors.New("a dry run changes nothing to wait for: leave out --wait or --dry-run")
	case cmd.Flags().Changed("timeout") && !s.wait:
		return errors.New("nothing is waited for: give --wait with --timeout")
	case s.timeout <= 0:
		return errors.New("there is no time to wait: give --timeout more than 0")
	}
	return oneOf(s.format, "json", "yaml", "name")
}

func (s *setIntent) run(cmd *cobra.Command, cluster string, domains []string) error {
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
		e := emptying{reader: read.Reader{Client: c}, cluster: client.ObjectKey{Namespace: namespace, Name: cluster}, domains: domains}
		return s.follow(cmd.Context(), e)
	}
	if !s.wait {
		return nil
	}
	return w.wait(cmd.Context(), result.object, domains, s.state, s.timeout)
}

// follow observes failure domains that are being emptied.
func (s *setIntent) follow(ctx context.Context, e emptying) error {
	if s.wait {
		return e.wait(ctx, s.timeout)
	}
	e.note(ctx, s.ErrOut)
	return nil
}

// show prints the result for one domain.
func (s *setIntent) show(object *unstructured.Unstructured, domain changed) error {
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
