// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
)

// projectAnnotation on a Namespace is its project, as cluster:project.
const projectAnnotation = "field.cattle.io/projectId"

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines;virtualmachineinstances,verbs=list

// setAnnotations sets the annotations that describe the location of the load balancer. Its namespace and project are facts; the
// network is looked up if it is not set.
func (w loadBalancer) setAnnotations(ctx context.Context, before, lb *lbv1.LoadBalancer) error {
	if lb.Annotations == nil {
		lb.Annotations = map[string]string{}
	}
	of := lb.Annotations
	of[lbv1.NamespaceAnnotation] = lb.Namespace
	if err := w.setProject(ctx, before, lb); err != nil || lb.Spec.WorkloadType != lbv1.WorkloadCluster {
		return err
	}
	network := cmp.Or(of[lbv1.NetworkAnnotation], of[lbv1.ManagementNetworkAnnotation])
	if network == "" && (before == nil || before.Annotations[lbv1.ClusterAnnotation] != of[lbv1.ClusterAnnotation]) {
		var err error
		if network, err = w.network(ctx, lb.Namespace, of[lbv1.ClusterAnnotation]); err != nil {
			return err
		}
	}
	if network != "" {
		of[lbv1.NetworkAnnotation] = network
	}
	return w.setVLAN(ctx, lb)
}

// setVLAN sets the label with the VLAN of the load balancer's network, like that of a pool, while it affects the selection of a pool. A
// network without a valid VLAN has none.
func (w loadBalancer) setVLAN(ctx context.Context, lb *lbv1.LoadBalancer) error {
	name := lb.Annotations[lbv1.NetworkAnnotation]
	if lb.Status.AllocatedAddress.IP != "" {
		return nil
	}
	if name != "" && !strings.Contains(name, "/") {
		name = lb.Namespace + "/" + name
	}
	network, err := findNetwork(ctx, w.Reader, name)
	if err != nil {
		return err
	}
	vlan := ""
	if network != nil {
		vlan, _ = vlanOf(network) // a pool with this network reports the error
	}
	if vlan == "" {
		delete(lb.Labels, lbv1.VLANLabel)
		return nil
	}
	metav1.SetMetaDataLabel(&lb.ObjectMeta, lbv1.VLANLabel, vlan)
	return nil
}

// setProject sets the annotation with the project of the load balancer's namespace. It keeps the existing form, and removes the
// annotation if the namespace is in no project: scopes of pools may select a project, and clients must not be able to claim one. The
// project is looked up while it affects the selection of a pool, and when a client changes the annotation.
func (w loadBalancer) setProject(ctx context.Context, before, lb *lbv1.LoadBalancer) error {
	of := lb.Annotations
	if before != nil && before.Annotations[lbv1.ProjectAnnotation] == of[lbv1.ProjectAnnotation] && lb.Status.AllocatedAddress.IP != "" {
		return nil
	}
	project, err := w.project(ctx, lb.Namespace)
	switch {
	case err != nil:
		return err
	case project == "":
		delete(of, lbv1.ProjectAnnotation)
	case ippools.Project(of[lbv1.ProjectAnnotation]) != project:
		of[lbv1.ProjectAnnotation] = project
	}
	return nil
}

// project returns the project of a namespace, as cluster/project, or "".
func (w loadBalancer) project(ctx context.Context, name string) (string, error) {
	namespace := &corev1.Namespace{}
	if err := w.Reader.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil // the API server reports it
		}
		return "", fmt.Errorf("reading the project of namespace %s: %w", name, err)
	}
	return ippools.Project(namespace.Annotations[projectAnnotation]), nil
}

// network returns the first network of a machine of the guest cluster. Machines created by Rancher without the label of their cluster are
// identified by their names.
func (w loadBalancer) network(ctx context.Context, namespace, cluster string) (string, error) {
	if cluster == "" {
		return "", nil
	}
	for _, by := range []struct {
		labels client.MatchingLabels
		suits  func(machine *kubevirtv1.VirtualMachineInstance) bool
	}{
		{client.MatchingLabels{lbv1.MachineClusterLabel: cluster}, func(*kubevirtv1.VirtualMachineInstance) bool { return true }},
		{client.MatchingLabels{lbv1.CreatorLabel: lbv1.RancherCreator}, func(machine *kubevirtv1.VirtualMachineInstance) bool {
			return machine.Labels[lbv1.MachineClusterLabel] == "" && loadbalancer.NamedAfter(cluster, machine.Name)
		}},
	} {
		machines := &kubevirtv1.VirtualMachineInstanceList{}
		err := w.Reader.List(ctx, machines, client.InNamespace(namespace), by.labels)
		if meta.IsNoMatchError(err) {
			return "", nil
		} else if err != nil {
			return "", fmt.Errorf("listing the machines of guest cluster %s: %w", cluster, err)
		}
		for i := range machines.Items {
			if name := networkOf(&machines.Items[i]); name != "" && by.suits(&machines.Items[i]) {
				return name, nil
			}
		}
	}
	return "", nil
}

// networkOf returns the first network of a machine other than the pod network.
func networkOf(machine *kubevirtv1.VirtualMachineInstance) string {
	for _, network := range machine.Spec.Networks {
		if network.Multus != nil && network.Multus.NetworkName != "" {
			return network.Multus.NetworkName
		}
	}
	return ""
}

// checkRemoval rejects load balancers of a guest cluster whose machines are being removed: its cloud provider would recreate the load
// balancers that were deleted with it, and they would leak. The default cluster name may belong to any cluster.
func (w loadBalancer) checkRemoval(ctx context.Context, lb *lbv1.LoadBalancer) (field.ErrorList, error) {
	cluster := lb.Labels[lbv1.GuestClusterLabel]
	if lb.Spec.WorkloadType != lbv1.WorkloadCluster || cmp.Or(cluster, loadbalancer.AnyCluster) == loadbalancer.AnyCluster {
		return nil, nil
	}
	machines := &metav1.PartialObjectMetadataList{}
	machines.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind.GroupVersion().WithKind("VirtualMachineList"))
	err := w.Reader.List(ctx, machines, client.InNamespace(lb.Namespace),
		client.MatchingLabels{lbv1.MachineClusterLabel: cluster, lbv1.CreatorLabel: lbv1.RancherCreator})
	if meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the machines of guest cluster %s: %w", cluster, err)
	}
	for i := range machines.Items {
		if machine := &machines.Items[i]; machine.Annotations[lbv1.RemovalAnnotation] == "true" {
			return field.ErrorList{field.Forbidden(field.NewPath("metadata", "labels").Key(lbv1.GuestClusterLabel), fmt.Sprintf(
				"may not be created while guest cluster %s is being removed, according to VirtualMachine %s/%s: wait until its machines are deleted", cluster, machine.Namespace, machine.Name))}, nil
		}
	}
	return nil, nil
}
