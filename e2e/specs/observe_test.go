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

// outside is how the outside system of a management cluster in kind is reached.
type outside struct {
	// Client is the one of today: specs look at several clusters.
	Client func() client.Client
	// Variables are those of cluster templates.
	Variables func() map[string]string
	// Boot tells that machines boot.
	Boot bool
	// Endpoint is the address of the control plane of the cluster whose template is written next.
	Endpoint func() string
}

// observer looks at clusters of a provider, and at what the outside system has of them.
type observer interface {
	// Prepare makes a namespace ready for the provider's cluster template, and tells its variables that are the namespace's own.
	Prepare(ctx context.Context, namespace string) (variables map[string]string, err error)
	// SetDomains gives a cluster the failure domains of these names, out of those of the Description, and no others.
	SetDomains(ctx context.Context, cluster client.ObjectKey, names []string) error
	// Places tells, as the outside system says, where each machine is whose cluster has this name: its failure domain by
	// the machine's name.
	Places(ctx context.Context, cluster string) (map[string]string, error)
	// Machines are those of the cluster as the outside system knows them, by name: all that tells a machine from another, and
	// tells whether something was done to it.
	Machines(ctx context.Context, cluster string) (map[string]any, error)
	// SetBroken makes a failure domain unfit for new machines, or repairs it. Machines in it stay.
	SetBroken(ctx context.Context, domain string, broken bool) error
}

// observers have one for each provider.
func observers(o outside) map[string]observer {
	return map[string]observer{"vsphere": vsphereObserver{o}, "metal3": &metal3Observer{outside: o}, "harvester": harvesterObserver{o}}
}

// kindOf is an object of a kind of the provider.
func kindOf(about provider.Description, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	for kind := range about.Kinds {
		if kind.Kind == name {
			object.SetGroupVersionKind(kind)
		}
	}
	return object
}

// distributeIn changes how a cluster uses its failure domains: a field that all providers have.
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

// observedIn are the failure domains in which the provider observed the control-plane machines of a namespace.
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
