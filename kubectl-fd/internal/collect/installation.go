// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
)

// Kinds that an installation is made of.
//
//nolint:gochecknoglobals // Go has no constant structs.
var (
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	inventoryKind  = schema.GroupKind{Group: "clusterctl.cluster.x-k8s.io", Kind: "Provider"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	leaseKind      = schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}
	machineKind    = schema.GroupKind{Group: clusterv1.GroupVersion.Group, Kind: "Machine"}
	configMapKind  = schema.GroupKind{Kind: "ConfigMap"}
	claimKind      = schema.GroupKind{Group: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim"}
)

// Installation reads what preflight needs, from all namespaces. A kind that is not installed has no objects. Missing permissions
// are returned as one MissingRightsError that lists all of them.
func (r Reader) Installation(ctx context.Context, providers []preflight.Provider) (preflight.Installation, error) {
	in := preflight.Installation{Objects: map[string][]unstructured.Unstructured{}}
	var errs []error
	list := func(kind schema.GroupKind, options ...client.ListOption) []unstructured.Unstructured {
		objects, err := r.all(ctx, kind, options...)
		errs = append(errs, err)
		return objects
	}
	in.CRDs = list(crdKind)
	in.Providers = list(inventoryKind)
	deployments, err := r.Deployments(ctx)
	in.Deployments, errs = deployments, append(errs, err)
	in.Machines, in.Claims = list(machineKind), list(claimKind)
	installed := slices.Concat(in.Deployments, in.Providers)
	for _, provider := range providers {
		for _, kind := range provider.Kinds {
			in.Objects[kind] = list(schema.GroupKind{Group: provider.Group, Kind: kind})
		}
		if provider.Standalone && !r.serves(provider) {
			continue
		}
		for _, kind := range provider.Related {
			var options []client.ListOption
			if kind == configMapKind {
				options = append(options, client.MatchingFields{"metadata.name": preflight.ConfigMapName})
			}
			in.Objects[kind.Kind] = list(kind, options...)
		}
		namespaces := installed
		if provider.LeaseNamespace != "" {
			namespaces = []unstructured.Unstructured{inNamespace(provider.LeaseNamespace)}
		}
		leases, err := r.leases(ctx, provider.Lease, namespaces)
		in.Leases = append(in.Leases, leases...)
		errs = append(errs, err)
	}
	return in, JoinErrors(errs...)
}

// Deployments reads the Deployments of Cluster API's providers.
func (r Reader) Deployments(ctx context.Context) ([]unstructured.Unstructured, error) {
	return r.all(ctx, deploymentKind, client.HasLabels{clusterv1.ProviderNameLabel})
}

// serves reports whether the API server serves a kind of a provider.
func (r Reader) serves(provider preflight.Provider) bool {
	return slices.ContainsFunc(provider.Kinds, func(kind string) bool {
		_, err := r.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: provider.Group, Kind: kind})
		return err == nil
	})
}

func inNamespace(namespace string) unstructured.Unstructured {
	object := unstructured.Unstructured{}
	object.SetNamespace(namespace)
	return object
}

// all lists the objects of a kind in the version that the API server prefers.
func (r Reader) all(ctx context.Context, kind schema.GroupKind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	err = r.Client.List(ctx, list, options...)
	return list.Items, Denied(err, r.Client.RESTMapper(), mapping.GroupVersionKind, "list", "")
}

// leases reads the leases with a name in the namespaces with installed managers.
func (r Reader) leases(ctx context.Context, name string, installed []unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	seen := map[string]bool{}
	for i := range installed {
		namespace := installed[i].GetNamespace()
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		kind := leaseKind.WithVersion("v1")
		lease := &unstructured.Unstructured{}
		lease.SetGroupVersionKind(kind)
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, lease)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, Denied(err, r.Client.RESTMapper(), kind, "get", namespace)
		}
		found = append(found, *lease)
	}
	return found, nil
}
