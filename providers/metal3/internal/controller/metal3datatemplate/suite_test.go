// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3datatemplate_test

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/testenv"
)

// The API server is real and shared by all tests; every test has its own namespace and manager.
var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme,
	)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "..", "config"), ClusterAPI: true,
	}, func(env *envtest.Environment) error {
		apiServer = env.Config
		return nil
	})
}
