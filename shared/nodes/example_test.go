// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// powerFeeds labels Nodes with the power feed of their host, which an annotation of the infrastructure machine names.
type powerFeeds struct{}

func (powerFeeds) Labels(_ context.Context, _ provider.Cluster, machine client.Object) (*nodes.Labels, error) {
	feed, known := machine.GetAnnotations()["example.com/power-feed"]
	if !known {
		return nil, nil // the Node is not changed until the annotation is set
	}
	return &nodes.Labels{Set: labels.Set{"example.com/power-feed": feed}}, nil
}

// Watches returns none: the Reconciler watches infrastructure machines itself.
func (powerFeeds) Watches() []nodes.LabelWatch { return nil }

// A provider adds the Reconciler in its setup. mgr and workloads are those of its manager; see package remote.
func ExampleReconciler() {
	var (
		mgr       ctrl.Manager
		workloads clustercache.ClusterCache
	)
	labelled := &nodes.Reconciler{
		Client: mgr.GetClient(), Provider: providertest.Provider{}, Workloads: workloads,
		Source: powerFeeds{}, Recorder: manager.Recorder(mgr, "nodelabels"),
	}
	if err := labelled.SetupWithManager(context.Background(), mgr, "", controller.Options{MaxConcurrentReconciles: 10}); err != nil {
		fmt.Println("adding the controller for Node labels:", err)
	}
}
