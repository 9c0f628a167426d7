//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// outside gives access to the outside system of a management cluster in kind.
type outside struct {
	// Client returns the current client, because specs use several clusters.
	Client func() client.Client
	// Variables returns the variables of cluster templates.
	Variables func() map[string]string
	// Boot is set if machines boot.
	Boot bool
	// Endpoint returns the control-plane address of the cluster whose template is rendered next.
	Endpoint func() string
}

// observer observes clusters of a provider, and their resources in the outside system.
type observer interface {
	// Prepare prepares a namespace for the provider's cluster template, and returns variables that are specific to the namespace.
	Prepare(ctx context.Context, namespace string) (variables map[string]string, err error)
	// SetDomains sets the failure domains of a cluster to those of the Description with these names.
	SetDomains(ctx context.Context, cluster client.ObjectKey, names []string) error
	// Places returns the failure domain of each machine of a cluster in the outside system, by the machine's name.
	Places(ctx context.Context, cluster string) (map[string]string, error)
	// Machines returns the properties of each machine of the cluster in the outside system, by name: those that identify it, and change
	// if something was done to it.
	Machines(ctx context.Context, cluster string) (map[string]any, error)
	// SetBroken makes a failure domain unusable for new machines, or repairs it. Existing machines stay.
	SetBroken(ctx context.Context, domain string, broken bool) error
}

// observers returns one observer for each provider.
func observers(o outside) map[string]observer {
	return map[string]observer{"vsphere": vsphereObserver{o}, "metal3": &metal3Observer{outside: o}, "harvester": harvesterObserver{o}}
}

// kindOf returns an object of a kind of the provider.
func kindOf(about provider.Description, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	for kind := range about.Kinds {
		if kind.Kind == name {
			object.SetGroupVersionKind(kind)
		}
	}
	return object
}

// distributeIn changes the distribution of a cluster, a field that all providers have.
func (i infrastructure) distributeIn(ctx context.Context, key client.ObjectKey, change func(*faultlinev1.Distribution)) error {
	cluster := kindOf(i.Description, i.ClusterKind)
	if err := management.GetClient().Get(ctx, key, cluster); err != nil {
		return err
	}
	fields, _, err := unstructured.NestedMap(cluster.Object, "spec", "distribution")
	if err != nil {
		return err
	}
	distribution := faultlinev1.Distribution{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &distribution); err != nil {
		return err
	}
	change(&distribution)
	if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&distribution); err != nil {
		return err
	}
	if err := unstructured.SetNestedMap(cluster.Object, fields, "spec", "distribution"); err != nil {
		return err
	}
	return management.GetClient().Update(ctx, cluster)
}

// observedIn returns the failure domains in which the provider observed the control-plane machines of a namespace.
func (i infrastructure) observedIn(ctx context.Context, namespace string) (map[string]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf(i.Description, i.MachineKind()).GroupVersionKind())
	if err := management.GetClient().List(ctx, list, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for _, machine := range list.Items {
		domains[machine.GetName()], _, _ = unstructured.NestedString(machine.Object, "status", "failureDomain")
	}
	return domains, nil
}
