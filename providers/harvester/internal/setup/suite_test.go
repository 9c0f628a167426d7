// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	webhooks "github.com/faultline-io/faultline/providers/harvester/internal/webhook"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// All tests share the real API servers of the management cluster and of Harvester. Every test has its own namespace in both, its own
// manager and its own hosts. The management cluster also serves as every test's workload cluster: the Nodes of its machines are there.
var (
	apiServer  *rest.Config
	kubeconfig []byte
	scheme     = runtime.NewScheme()
	user       client.WithWatch // client of all actors except the managers
	sim        *simulator.Simulator
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme,
		infrav1.AddToScheme, v1alpha1.AddToScheme,
	)
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
	env, stop, err := testenv.Open(ctx, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), ClusterAPI: true, ControlPlane: true, Serve: webhooks.Webhooks{}.SetupWithManager,
	})
	if err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, stop()) }()
	apiServer, kubeconfig = env.Config, env.KubeConfig
	if user, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	// Every test adds its own hosts.
	options := append(simulator.KubeVirtOf(os.Getenv), simulator.WithLayout(simulator.Layout{}), simulator.WithHooks(simulator.Hooks{PowerOn: boot}))
	if sim, err = simulator.Run(ctx, options...); err != nil {
		return 0, err
	}
	defer func() { reterr = errors.Join(reterr, sim.Stop()) }()
	return m.Run(), nil
}

// uninitialized is the taint of a Node that waits for its cloud provider.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// boot simulates a virtual machine's kubelet, which joins its cluster and waits for a cloud provider.
func boot(ctx context.Context, boot simulator.Boot) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: boot.VMI.Name}}
	node.Spec.Taints = []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	return client.IgnoreAlreadyExists(user.Create(ctx, node))
}
