// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// clusterScope is the state of one reconcile of an infrastructure cluster.
type clusterScope struct {
	owner *clusterv1.Cluster
	infra *providertest.Cluster
}

func (s *clusterScope) Owner() *clusterv1.Cluster { return s.owner }

// The loop of an infrastructure cluster. A provider runs it in its Reconcile method and shares one Expectations per controller.
func ExampleLoop() {
	infra := &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "my-cluster"}}
	scheme := runtime.NewScheme()
	_ = providertest.AddToScheme(scheme)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(infra).WithStatusSubresource(infra).Build()

	loop := reconcile.Loop[*providertest.Cluster, *clusterScope]{
		Client: c, Expectations: &patch.Expectations{}, Finalizer: "providertest.infrastructure.cluster.x-k8s.io",
		NewScope: func(_ context.Context, infra *providertest.Cluster, _ *patch.Patch) (*clusterScope, error) {
			return &clusterScope{owner: &clusterv1.Cluster{}, infra: infra}, nil // see OwnerCluster
		},
		ReconcileNormal: func(_ context.Context, s *clusterScope) (ctrl.Result, error) {
			status.False(s.infra, clusterv1.ReadyCondition, "EndpointMissing", "spec.controlPlaneEndpoint has no host: set it")
			return ctrl.Result{}, nil
		},
		ReconcileDelete: func(_ context.Context, s *clusterScope) (ctrl.Result, error) {
			controllerutil.RemoveFinalizer(s.infra, "providertest.infrastructure.cluster.x-k8s.io") // see Remaining
			return ctrl.Result{}, nil
		},
	}
	key := client.ObjectKeyFromObject(infra)
	_, err := loop.Run(context.Background(), ctrl.Request{NamespacedName: key}, &providertest.Cluster{})
	fmt.Println(err, c.Get(context.Background(), key, infra))
	fmt.Println(infra.Finalizers)
	for _, condition := range infra.Status.Conditions {
		fmt.Println(condition.Type, condition.Status, condition.Reason)
	}
	// Output:
	// <nil> <nil>
	// [providertest.infrastructure.cluster.x-k8s.io]
	// Ready False EndpointMissing
	// Paused False NotPaused
}

// The life cycle of a machine as steps. Every reconcile runs them from the first, up to one that has to wait.
func ExampleRunSteps() {
	machine := &clusterv1.Machine{}
	bootstrap := func(_ context.Context, machine *clusterv1.Machine) (reconcile.Progress, error) {
		if machine.Spec.Bootstrap.DataSecretName == nil {
			return reconcile.Wait, nil // the controller watches Machines
		}
		return reconcile.Proceed, nil
	}
	power := func(context.Context, *clusterv1.Machine) (reconcile.Progress, error) {
		return reconcile.Retry(10 * time.Second), nil // the infrastructure reports no event
	}
	for _, secret := range []*string{nil, new(string)} {
		machine.Spec.Bootstrap.DataSecretName = secret
		progress, err := reconcile.RunSteps(context.Background(), machine, bootstrap, power)
		fmt.Println(progress.Result().RequeueAfter, err)
	}
	// Output:
	// 0s <nil>
	// 10s <nil>
}
