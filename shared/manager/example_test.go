// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// The main function of a provider.
func ExampleOptions_Run() {
	options := &manager.Options{}
	options.AddFlags(pflag.CommandLine)
	options.Ignore(pflag.CommandLine, manager.Ignored{Name: "metrics-bind-addr", Why: "--diagnostics-address sets the address of the metrics"})
	pflag.Parse()
	err := options.Run(ctrl.SetupSignalHandler(), manager.Provider{
		Name: "test", Namespace: "capt-system", LeaderElectionID: "controller-leader-election-capt",
		Scheme: []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, providertest.AddToScheme},
		Cache:  manager.StripObjects,
		Add: func(context.Context, ctrl.Manager) error {
			return nil // add the webhooks and the controllers, with options.WatchFilter
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}
