// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// All tests share a real API server, which is both management and workload cluster. Every test has its own namespace and manager.
var (
	apiServer  *rest.Config
	kubeconfig []byte
	scheme     = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, providertest.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{Scheme: scheme, ClusterAPI: true, CRDs: providertest.CRDs()}, func(env *envtest.Environment) error {
		apiServer, kubeconfig = env.Config, env.KubeConfig
		return nil
	})
}
