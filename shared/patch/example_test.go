// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/status"
)

// A finalizer is stored before something is created outside, and the status is written at the end. reconcile.Loop passes the
// Patch to NewScope and calls Apply.
func ExamplePatch_StoreSpec() {
	ctx, scheme := context.Background(), runtime.NewScheme()
	_ = providertest.AddToScheme(scheme)
	infraCluster := &providertest.Cluster{}
	infraCluster.Namespace, infraCluster.Name = "default", "my-cluster"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(infraCluster).WithStatusSubresource(infraCluster).Build()

	_ = c.Get(ctx, client.ObjectKeyFromObject(infraCluster), infraCluster)
	p := patch.From(infraCluster)
	infraCluster.Finalizers = []string{"loadbalancer.example.com"}
	if err := p.StoreSpec(ctx, c, infraCluster); err != nil {
		fmt.Println("nothing is created:", err)
		return
	}
	// Create the load balancer here.
	status.True(infraCluster, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	fmt.Println(p.Apply(ctx, c, infraCluster))

	stored := &providertest.Cluster{}
	_ = c.Get(ctx, client.ObjectKeyFromObject(infraCluster), stored)
	fmt.Println(stored.Finalizers, conditions.IsTrue(stored, clusterv1.ReadyCondition))
	// Output:
	// <nil>
	// [loadbalancer.example.com] true
}
