// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
)

// DefaultStorageClass is Harvester's initial storage class.
const DefaultStorageClass = cluster.DefaultStorageClass

const (
	defaultNamespace = "default"
	// systemNamespace is the namespace of Harvester's own components.
	systemNamespace = "harvester-system"
)

// populate creates the initial objects.
func (s *Simulator) populate(ctx context.Context) error {
	var objects []client.Object
	for _, name := range s.settings.namespaces {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	objects = append(objects, cluster.StorageClass(DefaultStorageClass), cloudProviderRole())
	for _, network := range s.settings.networks {
		object := network.object()
		if network.First.IsValid() {
			s.leases.SetFirst(client.ObjectKeyFromObject(object).String(), network.First)
		}
		objects = append(objects, object)
	}
	for _, name := range s.settings.images {
		objects = append(objects, &harvesterhciv1.VirtualMachineImage{
			ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: name},
			Spec:       harvesterhciv1.VirtualMachineImageSpec{DisplayName: name},
		})
	}
	for _, pair := range s.settings.keyPairs {
		objects = append(objects, &harvesterhciv1.KeyPair{
			ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(pair.Namespace, defaultNamespace), Name: pair.Name},
			Spec:       harvesterhciv1.KeyPairSpec{PublicKey: pair.PublicKey},
		})
	}
	for i := range s.settings.pools {
		objects = append(objects, s.settings.pools[i].DeepCopy())
	}
	for _, object := range objects {
		if err := s.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	if err := s.addHarvester(ctx); err != nil {
		return err
	}
	return s.addHosts(ctx)
}

// addHarvester creates the Deployment of Harvester itself, which is available. Upstream's provider reads it to check the
// connection to Harvester.
func (s *Simulator) addHarvester(ctx context.Context) error {
	labels := map[string]string{"app.kubernetes.io/name": "harvester"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "harvester"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "apiserver", Image: "harvester"}},
		}},
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}
	if err := s.client.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating namespace %s: %w", systemNamespace, err)
	}
	if err := s.client.Create(ctx, deployment); err != nil {
		return fmt.Errorf("creating the Deployment of Harvester: %w", err)
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"}},
	}
	if err := s.client.Status().Update(ctx, deployment); err != nil {
		return fmt.Errorf("updating the status of the Deployment of Harvester: %w", err)
	}
	return nil
}

// cloudProviderRole returns the permissions of guest clusters' cloud providers and CSI drivers, as in Harvester's chart.
func cloudProviderRole() *rbacv1.ClusterRole {
	read := []string{"get", "list", "watch"}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "harvesterhci.io:cloudprovider"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{lbv1.GroupVersion.Group}, Resources: []string{"loadbalancers"}, Verbs: append([]string{"update", "create", "delete"}, read...)},
		{APIGroups: []string{"subresources.kubevirt.io"}, Resources: []string{
			"virtualmachines/addvolume", "virtualmachines/removevolume", "virtualmachineinstances/addvolume", "virtualmachineinstances/removevolume",
		}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{kubevirtv1.GroupVersion.Group}, Resources: []string{"virtualmachines", "virtualmachineinstances"}, Verbs: read},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods", "nodes"}, Verbs: read},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"persistentvolumeclaims", "persistentvolumeclaims/status"}, Verbs: []string{rbacv1.VerbAll}},
	}}
}

// object returns the network's NetworkAttachmentDefinition.
func (n Network) object() *netattv1.NetworkAttachmentDefinition {
	vlan := max(n.VLAN, 1)
	network := &netattv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{
		Namespace: cmp.Or(n.Namespace, defaultNamespace), Name: n.Name, Labels: map[string]string{
			netattv1.ClusterNetworkLabel: cmp.Or(n.ClusterNetwork, managementNetwork), netattv1.VLANLabel: strconv.Itoa(vlan),
		},
	}}
	network.Spec.Config = fmt.Sprintf(`{"cniVersion":"0.3.1","name":%q,"type":"bridge","bridge":"%s-br","vlan":%d,"ipam":{}}`,
		n.Name, network.Labels[netattv1.ClusterNetworkLabel], vlan)
	return network
}

// Pool returns a pool of the addresses from first to last of a subnet, whose gateway is its first address.
func Pool(name, subnet, first, last string) lbv1.IPPool {
	return lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: subnet, RangeStart: first, RangeEnd: last}}},
	}
}
