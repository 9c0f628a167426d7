// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command implements the command line of kubectl fd, and applies the states that users want for failure domains.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/collect"
	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
)

// Options holds what the commands need from their process.
type Options struct {
	genericiooptions.IOStreams
	// Environment returns the value of an environment variable.
	Environment func(string) string
	Now         func() time.Time
	Version     string
}

// quorumLost is the exit code of simulate if a cluster would lose its quorum.
const quorumLost = 2

// errQuorumLost is returned by simulate after it has printed its output.
var errQuorumLost = errors.New("a cluster would lose its quorum")

// root is shared by all commands.
type root struct {
	Options
	flags *genericclioptions.ConfigFlags
}

// Main runs a command line and returns the exit code of the process.
func Main(ctx context.Context, o Options, args []string) int {
	cmd := New(o) //nolint:contextcheck // Commands get the context when they run.
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errQuorumLost):
		return quorumLost
	case errors.Is(err, errBlocked):
		return blocked
	}
	_, _ = fmt.Fprintln(o.ErrOut, "error:", err)
	return 1
}

// New returns the kubectl fd command.
func New(o Options) *cobra.Command {
	r := &root{Options: o, flags: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "kubectl-fd",
		Short: "Show and set the state of failure domains of Cluster API clusters",
		Long: `Show and set the state of failure domains of Cluster API clusters.

Run it against the management cluster. It needs permission to read Clusters, Machines and
infrastructure clusters, and to patch infrastructure clusters for cordon, evict and activate;
it names each missing permission.`,
		Example: `  # A rack has failed: show its machines, and which clusters keep their quorum
  kubectl fd get -A
  kubectl fd simulate --lose rack-2

  # Keep new machines out of it, then empty it
  kubectl fd cordon prod rack-2
  kubectl fd evict prod rack-2 --wait

  # The rack has recovered
  kubectl fd activate prod rack-2 --wait`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fd"},
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(o.In)
	cmd.SetOut(o.Out)
	cmd.SetErr(o.ErrOut)
	r.flags.AddFlags(cmd.PersistentFlags())
	cmd.AddCommand(r.get(), r.plan(), r.simulate(), r.history(), r.preflight(), r.version())
	cmd.AddCommand(r.stateCommands()...)
	return cmd
}

// client returns a client for the management cluster selected by the flags and the kubeconfig.
func (r *root) client() (client.WithWatch, error) {
	config, options, err := r.connection()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, options)
}

// connection returns how to connect to the management cluster selected by the flags and the kubeconfig.
func (r *root) connection() (*rest.Config, client.Options, error) {
	config, err := r.flags.ToRESTConfig()
	if err != nil {
		return nil, client.Options{}, fmt.Errorf("choosing the management cluster: %w", err)
	}
	config.QPS = -1 // API servers limit requests themselves, and a client-side limit would fail requests before their deadline.
	config.WarningHandler = rest.NewWarningWriter(r.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	mapper, err := r.flags.ToRESTMapper()
	if err != nil {
		return nil, client.Options{}, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, eventsv1.AddToScheme, authenticationv1.AddToScheme, collect.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, client.Options{}, err
		}
	}
	return config, client.Options{Scheme: scheme, Mapper: mapper}, nil
}

// namespace returns the namespace selected by the flags and the kubeconfig.
func (r *root) namespace() (string, error) {
	namespace, _, err := r.flags.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// scope returns the clusters selected by the arguments and flags.
func (r *root) scope(names []string, all bool) (collect.Scope, error) {
	if all && len(names) > 0 {
		return collect.Scope{}, fmt.Errorf("a cluster name cannot be combined with --all-namespaces: choose its namespace with -n, or omit %s", names[0])
	}
	if all && *r.flags.Namespace != "" {
		return collect.Scope{}, fmt.Errorf("a namespace cannot be combined with --all-namespaces: omit -n %s or -A", *r.flags.Namespace)
	}
	if all {
		return collect.Scope{}, nil
	}
	namespace, err := r.namespace()
	return collect.Scope{Namespace: namespace, Names: names}, err
}

// style returns the capabilities of the output. Colours are only used in a terminal, and not if NO_COLOR is set.
func (r *root) style() render.Style {
	style := render.Style{Now: r.Now()}
	if style.Width = widthOf(r.Out); style.Width > 0 {
		style.Colour = r.Environment("NO_COLOR") == "" && r.Environment("TERM") != "dumb"
	}
	return style
}

// widthOf returns the width of a terminal, 0 for other outputs.
func widthOf(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	return terminalWidth(file)
}
