// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"path/filepath"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
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

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	webhooks "github.com/faultline-io/faultline/providers/metal3/internal/webhook"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// The API server is real and shared by all tests, with our CRDs and webhooks; every test has its own namespace, manager and
// simulated hosts. It also serves as the workload cluster of every test: the Nodes of its machines are there.
var (
	apiServer  *rest.Config
	kubeconfig []byte
	scheme     = runtime.NewScheme()
	user       client.WithWatch // used for everything except the managers
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, ipamclusterv1.AddToScheme,
		infrav1.AddToScheme, v1beta1.AddToScheme, ipamv1.AddToScheme, bmov1alpha1.AddToScheme,
	)
	utilruntime.Must(kinds.AddToScheme(scheme))
	crds, err := simulator.CRDs()
	utilruntime.Must(err)
	testenv.Main(m, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), ClusterAPI: true, ControlPlane: true, CRDs: crds, Serve: webhooks.SetupWithManager,
	}, func(env *envtest.Environment) (err error) {
		apiServer, kubeconfig = env.Config, env.KubeConfig
		user, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
		return err
	})
}
