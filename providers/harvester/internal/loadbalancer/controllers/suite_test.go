// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

// All tests share a real API server. Each test has its own namespace, pools and manager.
var (
	apiServer *rest.Config
	server    *envtest.Environment
	scheme    = runtime.NewScheme()
	user      client.WithWatch // acts for all clients but the managers
)

func TestMain(m *testing.M) {
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, kubevirtv1.AddToScheme, lbv1.AddToScheme)
	utilruntime.Must(kinds.AddToScheme(scheme))
	crds, err := simulator.CRDs()
	utilruntime.Must(err)
	testenv.Main(m, testenv.Options{Scheme: scheme, CRDs: crds, Configure: func(plane *envtest.ControlPlane) {
		// Load balancers may be of either family, and numerous.
		plane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.53.0.0/16,fd00:53::/112").
			Set("service-node-port-range", "20000-60000")
	}}, func(env *envtest.Environment) (err error) {
		server, apiServer = env, rest.CopyConfig(env.Config)
		apiServer.QPS, apiServer.RateLimiter = -1, nil
		user, err = client.NewWithWatch(apiServer, client.Options{Scheme: scheme})
		return err
	})
}
