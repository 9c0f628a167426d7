// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// infrastructure reads the infrastructure clusters of several Clusters: one by one, or with one list per kind if all are read.
type infrastructure struct {
	reader Reader
	scope  Scope
	lists  map[schema.GroupKind]*listed
}

type listed struct {
	objects map[client.ObjectKey]*unstructured.Unstructured
	err     error
}

// of reads the infrastructure cluster of a Cluster. problem states why it does not exist, and how to fix it.
func (i infrastructure) of(ctx context.Context, cluster *clusterv1.Cluster) (infra *unstructured.Unstructured, problem string, err error) {
	ref := cluster.Spec.InfrastructureRef
	if !ref.IsDefined() {
		if cluster.Spec.Topology.IsDefined() {
			return nil, "it has no infrastructure cluster yet, because its ClusterClass has not been applied: see kubectl describe cluster " + cluster.Name, nil
		}
		return nil, "it has no infrastructure cluster: set spec.infrastructureRef of the Cluster", nil
	}
	kind := schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}
	mapping, err := i.reader.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Sprintf("its infrastructure is %s %s, and no provider of that kind is installed: install it with clusterctl", kind, ref.Name), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("finding kind %s: %w", kind, err)
	}
	if len(i.scope.Names) > 0 {
		infra, err = i.get(ctx, mapping.GroupVersionKind, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name})
	} else {
		infra, err = i.find(ctx, mapping.GroupVersionKind, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name})
	}
	if err == nil && infra == nil {
		problem = fmt.Sprintf("its %s %s does not exist: create it, or correct spec.infrastructureRef of the Cluster", ref.Kind, ref.Name)
	}
	return infra, problem, err
}

// get reads an object. It returns nil if it does not exist.
func (i infrastructure) get(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	err := i.reader.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, i.reader.explain(err, kind, "get", key.Namespace)
}

// find returns an object from the list of its kind, or nil if it does not exist.
func (i infrastructure) find(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	if i.lists[kind.GroupKind()] == nil {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := i.reader.Client.List(ctx, list, client.InNamespace(i.scope.Namespace))
		found := &listed{
			objects: map[client.ObjectKey]*unstructured.Unstructured{}, err: i.reader.explain(err, kind, "list", i.scope.Namespace),
		}
		for at := range list.Items {
			found.objects[client.ObjectKeyFromObject(&list.Items[at])] = &list.Items[at]
		}
		i.lists[kind.GroupKind()] = found
	}
	return i.lists[kind.GroupKind()].objects[key], i.lists[kind.GroupKind()].err
}

// Infrastructure reads the infrastructure cluster of one Cluster. If it does not exist, the error states how to fix it.
func (r Reader) Infrastructure(ctx context.Context, cluster client.ObjectKey) (*unstructured.Unstructured, error) {
	scope := Scope{Namespace: cluster.Namespace, Names: []string{cluster.Name}}
	clusters, err := r.Clusters(ctx, scope)
	if err != nil {
		return nil, err
	}
	infra, problem, err := infrastructure{reader: r, scope: scope}.of(ctx, &clusters[0])
	if problem != "" {
		return nil, fmt.Errorf("Cluster %s cannot be used: %s", cluster.Name, problem)
	}
	return infra, err
}

// Target is a Cluster with its infrastructure cluster.
type Target struct {
	Cluster client.ObjectKey
	// Infrastructure is nil if it does not exist, and then Problem states how to fix it.
	Infrastructure *unstructured.Unstructured
	Problem        string
}

// Targets reads clusters and their infrastructure clusters, without machines.
func (r Reader) Targets(ctx context.Context, scope Scope) ([]Target, error) {
	clusters, err := r.Clusters(ctx, scope)
	if err != nil {
		return nil, err
	}
	read := infrastructure{reader: r, scope: scope, lists: map[schema.GroupKind]*listed{}}
	targets, problems := make([]Target, len(clusters)), make([]error, 0, len(clusters))
	for i := range clusters {
		infra, problem, err := read.of(ctx, &clusters[i])
		targets[i] = Target{Cluster: client.ObjectKeyFromObject(&clusters[i]), Infrastructure: infra, Problem: problem}
		problems = append(problems, err)
	}
	return targets, JoinErrors(problems...)
}
