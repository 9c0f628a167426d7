// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collect reads clusters, their infrastructure clusters and their machines from a management cluster, with as few requests
// as possible and with the permissions of a user.
package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Reader reads from a management cluster.
type Reader struct {
	Client client.Client
}

// Scope selects the clusters to read.
type Scope struct {
	// Namespace is the namespace of the clusters; "" means all.
	Namespace string
	// Names are the names of the clusters; none means all.
	Names []string
	// Selector selects clusters without Names by their labels; nil means all.
	Selector labels.Selector
}

// Reports reads clusters. Missing permissions are returned as one MissingRightsError that lists all of them.
func (r Reader) Reports(ctx context.Context, scope Scope) ([]report.Cluster, error) {
	seen, err := r.Observe(ctx, scope)
	if err != nil {
		return nil, err
	}
	reports := make([]report.Cluster, 0, len(seen))
	for _, observed := range seen {
		reports = append(reports, report.Of(observed))
	}
	report.Sort(reports)
	return reports, nil
}

// Observe reads clusters like Reports, and returns the objects.
func (r Reader) Observe(ctx context.Context, scope Scope) ([]report.Observed, error) {
	clusters, clustersErr := r.Clusters(ctx, scope)
	machines, machinesErr := r.machines(ctx, scope)
	if err := JoinErrors(clustersErr, machinesErr); err != nil {
		return nil, err
	}
	seen := make([]report.Observed, len(clusters))
	problems := make([]error, 0, len(clusters))
	read := infrastructure{reader: r, scope: scope, lists: map[schema.GroupKind]*listed{}}
	for i := range clusters {
		seen[i].Cluster, seen[i].Machines = &clusters[i], machines[client.ObjectKeyFromObject(&clusters[i])]
		infra, problem, err := read.of(ctx, &clusters[i])
		seen[i].Infrastructure, seen[i].Problem = infra, problem
		problems = append(problems, err)
	}
	if err := JoinErrors(problems...); err != nil {
		return nil, err
	}
	for i := range seen {
		var err error
		seen[i].Assigned, err = r.assigned(ctx, &seen[i])
		problems = append(problems, err)
	}
	return seen, JoinErrors(problems...)
}

// JoinErrors merges errors: it returns the first one, or a MissingRightsError with all missing permissions.
func JoinErrors(errs ...error) error {
	var missing MissingRightsError
	for _, err := range errs {
		var rights MissingRightsError
		switch {
		case err == nil:
		case errors.As(err, &rights):
			missing = append(missing, rights...)
		default:
			return err
		}
	}
	if len(missing) > 0 {
		return missing
	}
	return nil
}

// Clusters reads the Clusters only.
func (r Reader) Clusters(ctx context.Context, scope Scope) ([]clusterv1.Cluster, error) {
	if len(scope.Names) == 0 {
		list := &clusterv1.ClusterList{}
		err := r.Client.List(ctx, list, &client.ListOptions{Namespace: scope.Namespace, LabelSelector: scope.Selector})
		return list.Items, r.explain(err, clusterv1.GroupVersion.WithKind("Cluster"), "list", scope.Namespace)
	}
	var clusters []clusterv1.Cluster
	names := slices.Clone(scope.Names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		cluster := clusterv1.Cluster{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: scope.Namespace, Name: name}, &cluster)
		if apierrors.IsNotFound(err) {
			return nil, r.unknown(ctx, scope.Namespace, name)
		}
		if err := r.explain(err, clusterv1.GroupVersion.WithKind("Cluster"), "get", scope.Namespace); err != nil {
			return nil, err
		}
		clusters = append(clusters, cluster)
	}
	return clusters, nil
}

// unknown returns an error for a Cluster that does not exist, with the existing ones.
func (r Reader) unknown(ctx context.Context, namespace, name string) error {
	list := &clusterv1.ClusterList{}
	_ = r.Client.List(ctx, list, client.InNamespace(namespace)) // This is only a hint; without it the message is still correct.
	if len(list.Items) == 0 {
		return fmt.Errorf("Cluster %s not found in namespace %s: choose the namespace with -n, or see all with kubectl fd get -A", name, namespace)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return fmt.Errorf("Cluster %s not found in namespace %s: choose one of %s, or another namespace with -n", name, namespace, List(names))
}

// List joins names for a message, up to ten of them.
func List(names []string) string {
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// explain translates an error of the API server for the user.
func (r Reader) explain(err error, kind schema.GroupVersionKind, verb, namespace string) error {
	if meta.IsNoMatchError(err) && kind.Group == clusterv1.GroupVersion.Group {
		return fmt.Errorf("this is not a management cluster, because it does not serve %s of %s: choose another with --context or --kubeconfig",
			kind.Kind, kind.GroupVersion())
	}
	return Denied(err, r.Client.RESTMapper(), kind, verb, namespace)
}

// machines lists the Machines of the clusters, by cluster: in one request, or for named clusters only those of each.
func (r Reader) machines(ctx context.Context, scope Scope) (map[client.ObjectKey][]clusterv1.Machine, error) {
	selectors := []client.ListOption{client.HasLabels{clusterv1.ClusterNameLabel}}
	if len(scope.Names) > 0 {
		selectors = nil
		for _, name := range scope.Names {
			selectors = append(selectors, client.MatchingLabels{clusterv1.ClusterNameLabel: name})
		}
	}
	machines := map[client.ObjectKey][]clusterv1.Machine{}
	for _, selector := range selectors {
		list := &clusterv1.MachineList{}
		err := r.Client.List(ctx, list, client.InNamespace(scope.Namespace), selector)
		if err := r.explain(err, clusterv1.GroupVersion.WithKind("Machine"), "list", scope.Namespace); err != nil {
			return nil, err
		}
		for i := range list.Items {
			machine := &list.Items[i]
			key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Labels[clusterv1.ClusterNameLabel]}
			machines[key] = append(machines[key], *machine)
		}
	}
	return machines, nil
}

// MachineDeployments lists the MachineDeployments of a cluster, by name.
func (r Reader) MachineDeployments(ctx context.Context, cluster client.ObjectKey) ([]clusterv1.MachineDeployment, error) {
	list := &clusterv1.MachineDeploymentList{}
	err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name})
	slices.SortFunc(list.Items, func(a, b clusterv1.MachineDeployment) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, r.explain(err, clusterv1.GroupVersion.WithKind("MachineDeployment"), "list", cluster.Namespace)
}

// assigned reads the failure domains that were assigned to workers whose Machines name none. Most clusters have no such workers,
// and then nothing is read.
func (r Reader) assigned(ctx context.Context, seen *report.Observed) (map[string]string, error) {
	if seen.Infrastructure == nil {
		return nil, nil
	}
	wanted, _, _ := unstructured.NestedBool(seen.Infrastructure.Object, "spec", "distribution", "workers", "enabled")
	if !wanted {
		return nil, nil
	}
	domains := map[string]string{}
	read := map[schema.GroupKind]map[string]string{}
	for i := range seen.Machines {
		machine := &seen.Machines[i]
		if machine.Status.FailureDomain != "" || machine.Spec.FailureDomain != "" || !machine.Spec.InfrastructureRef.IsDefined() {
			continue
		}
		kind := schema.GroupKind{Group: machine.Spec.InfrastructureRef.APIGroup, Kind: machine.Spec.InfrastructureRef.Kind}
		if read[kind] == nil {
			found, err := r.annotated(ctx, kind, client.ObjectKeyFromObject(seen.Cluster))
			if err != nil {
				return nil, err
			}
			read[kind] = found
		}
		domains[machine.Name] = read[kind][machine.Spec.InfrastructureRef.Name]
	}
	return domains, nil
}

// annotated lists the assigned failure domains of a cluster's infrastructure machines of one kind, by machine name.
func (r Reader) annotated(ctx context.Context, kind schema.GroupKind, cluster client.ObjectKey) (map[string]string, error) {
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if err != nil {
		return nil, fmt.Errorf("finding kind %s of infrastructure machines: %w", kind, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	err = r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name})
	if err := r.explain(err, mapping.GroupVersionKind, "list", cluster.Namespace); err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for i := range list.Items {
		domains[list.Items[i].Name] = faultlinev1.Value(list.Items[i].Annotations, faultlinev1.AssignedFailureDomainAnnotation)
	}
	return domains, nil
}

// Events lists the events of an object that the API server still has.
func (r Reader) Events(ctx context.Context, of *unstructured.Unstructured) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := r.Client.List(ctx, list, client.InNamespace(of.GetNamespace()),
		client.MatchingFields{"regarding.kind": of.GetKind(), "regarding.name": of.GetName()})
	return list.Items, r.explain(err, eventsv1.SchemeGroupVersion.WithKind("Event"), "list", of.GetNamespace())
}
