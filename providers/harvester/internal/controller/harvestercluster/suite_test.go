// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// All tests share the real API servers of the management cluster and of Harvester. Every test has its own namespace in both, its
// own hosts and its own manager.
var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
	user      client.Client // client of all actors except the managers
	sim       *simulator.Simulator
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, reterr error) {
	ctx := context.Background()
	env, stop, err := testenv.Open(ctx, testenv.Options{Scheme: scheme, Config: filepath.Join("..", "..", "..", "config"), ClusterAPI: true})
	if err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, stop()) }()
	apiServer = env.Config
	if user, err = client.New(apiServer, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	if sim, err = simulator.Run(ctx, simulator.WithLayout(simulator.Layout{}), simulator.WithKubeVIP(simulator.KubeVIPWaits)); err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, sim.Stop()) }()
	return m.Run(), nil
}
