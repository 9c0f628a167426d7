// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	webhooks "github.com/faultline-io/faultline/providers/vsphere/internal/webhook"
	"github.com/faultline-io/faultline/shared/testenv"
)

// The API server is real and shared by all tests, with our CRDs and webhooks. Every test has its own namespace, manager and
// vCenter.
var (
	apiServer  *rest.Config
	kubeconfig []byte
	scheme     = runtime.NewScheme()
	user       client.Client // plays every client except the managers
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, ipamclusterv1.AddToScheme,
		infrav1.AddToScheme, v1beta1.AddToScheme,
	)
	utilruntime.Must(kinds.AddToScheme(scheme))
	testenv.Main(m, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), ClusterAPI: true, ControlPlane: true, Serve: webhooks.SetupWithManager,
	}, func(env *envtest.Environment) (err error) {
		apiServer, kubeconfig = env.Config, env.KubeConfig
		user, err = client.New(apiServer, client.Options{Scheme: scheme})
		return err
	})
}
