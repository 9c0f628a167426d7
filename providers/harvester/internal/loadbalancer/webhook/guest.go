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

// projectAnnotation on a namespace is its project, as cluster:project.
const projectAnnotation = "field.cattle.io/projectId"

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=kubevirt.io,resources=virtualmachines;virtualmachineinstances,verbs=list

// place has the annotations say where the load balancer is. Its namespace and the project of that are facts; the network is looked up
// where nobody has said it.
func (w loadBalancer) place(ctx context.Context, before, lb *lbv1.LoadBalancer) error {
	if lb.Annotations == nil {
		lb.Annotations = map[string]string{}
	}
	of := lb.Annotations
	of[lbv1.NamespaceAnnotation] = lb.Namespace
	if err := w.placeProject(ctx, before, lb); err != nil || lb.Spec.WorkloadType != lbv1.WorkloadCluster {
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
	return w.placeVLAN(ctx, lb)
}

// placeVLAN has a label say which VLAN the load balancer's network is in, as that of a pool does, while that decides on a pool. A network that
// does not say it clearly is in none.
func (w loadBalancer) placeVLAN(ctx context.Context, lb *lbv1.LoadBalancer) error {
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
		vlan, _ = vlanOf(network) // Who makes a pool of it is told what is wrong.
	}
	if vlan == "" {
		delete(lb.Labels, lbv1.VLANLabel)
		return nil
	}
	metav1.SetMetaDataLabel(&lb.ObjectMeta, lbv1.VLANLabel, vlan)
	return nil
}

// placeProject has the annotation say which project the load balancer's namespace is in, in the form that it is said in already, and nothing
// for a namespace that is in none: a pool's scope may name a project, and it is not the client that says who is of it. The project is looked
// up as long as it decides on a pool, and when somebody says another one.
func (w loadBalancer) placeProject(ctx context.Context, before, lb *lbv1.LoadBalancer) error {
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

// project is that of a namespace, as cluster/project; nothing for a namespace that is in none.
func (w loadBalancer) project(ctx context.Context, name string) (string, error) {
	namespace := &corev1.Namespace{}
	if err := w.Reader.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil // The API server tells it.
		}
		return "", fmt.Errorf("reading the project of namespace %s: %w", name, err)
	}
	return ippools.Project(namespace.Annotations[projectAnnotation]), nil
}

// network is the first one that a machine of the guest cluster is on. Machines of Rancher's that nobody has labelled with their cluster are
// known by their names.
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

// networkOf is the first network of a machine beside that of pods.
func networkOf(machine *kubevirtv1.VirtualMachineInstance) string {
	for _, network := range machine.Spec.Networks {
		if network.Multus != nil && network.Multus.NetworkName != "" {
			return network.Multus.NetworkName
		}
	}
	return ""
}

// removed forbids load balancers of a guest cluster whose machines are being removed: its cloud provider would make those again that were
// deleted with it, and nobody would take them away. A cluster that nobody has named may be any.
func (w loadBalancer) removed(ctx context.Context, lb *lbv1.LoadBalancer) (field.ErrorList, error) {
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
				"guest cluster %s is being removed, as VirtualMachine %s/%s says: wait until its machines are gone", cluster, machine.Namespace, machine.Name))}, nil
		}
	}
	return nil, nil
}
