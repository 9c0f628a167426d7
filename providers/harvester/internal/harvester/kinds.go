// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
)

// AddToScheme adds the kinds on Harvester.
func AddToScheme(scheme *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{
		corev1.AddToScheme, discoveryv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		kubevirtv1.AddToScheme, harvesterhciv1.AddToScheme, netattv1.AddToScheme, lbv1.AddToScheme,
	}).AddToScheme(scheme)
}

// eventTarget defines which askers a change of an object enqueues, and how its kind is read.
type eventTarget int

const (
	noInformer   eventTarget = iota // read from Harvester each time, because it is read rarely
	noTarget                        // read from Harvester and cached briefly: specs refer to it in any namespace
	owner                           // enqueues the owner in its annotation
	everyCluster                    // enqueues the clusters of the connection, and the machines on a Node
	waiting                         // enqueues the askers that called Await
)

// eventTargetOf returns how a kind is read and which askers its changes enqueue.
func eventTargetOf(o runtime.Object) eventTarget {
	switch o.(type) {
	case *kubevirtv1.VirtualMachine, *kubevirtv1.VirtualMachineInstance, *corev1.Service, *lbv1.LoadBalancer,
		*kubevirtv1.VirtualMachineList, *kubevirtv1.VirtualMachineInstanceList, *corev1.ServiceList, *lbv1.LoadBalancerList:
		return owner
	case *corev1.Node, *corev1.NodeList:
		return everyCluster
	case *storagev1.StorageClass, *lbv1.IPPool, *storagev1.StorageClassList, *lbv1.IPPoolList:
		return waiting
	case *harvesterhciv1.VirtualMachineImage, *harvesterhciv1.KeyPair, *netattv1.NetworkAttachmentDefinition,
		*harvesterhciv1.VirtualMachineImageList, *harvesterhciv1.KeyPairList, *netattv1.NetworkAttachmentDefinitionList:
		return noTarget
	default:
		return noInformer
	}
}

// Mapper returns a static RESTMapper. It sends no requests, so that a Harvester with other unavailable APIs remains usable.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	add := func(gv schema.GroupVersion, scope meta.RESTScope, kinds ...string) {
		for _, kind := range kinds {
			addKind(m, gv.WithKind(kind), scope)
		}
	}
	add(corev1.SchemeGroupVersion, meta.RESTScopeRoot, "Node", "Namespace")
	add(corev1.SchemeGroupVersion, meta.RESTScopeNamespace, "Secret", "Service", "PersistentVolumeClaim", "ServiceAccount", "ConfigMap")
	add(discoveryv1.SchemeGroupVersion, meta.RESTScopeNamespace, "EndpointSlice")
	add(rbacv1.SchemeGroupVersion, meta.RESTScopeRoot, "ClusterRole", "ClusterRoleBinding")
	add(rbacv1.SchemeGroupVersion, meta.RESTScopeNamespace, "RoleBinding")
	add(storagev1.SchemeGroupVersion, meta.RESTScopeRoot, "StorageClass")
	add(kubevirtv1.SchemeGroupVersion, meta.RESTScopeNamespace, "VirtualMachine", "VirtualMachineInstance")
	add(harvesterhciv1.GroupVersion, meta.RESTScopeNamespace, "VirtualMachineImage", "KeyPair")
	add(lbv1.GroupVersion, meta.RESTScopeRoot, "IPPool", "IPPoolBlock")
	add(lbv1.GroupVersion, meta.RESTScopeNamespace, "LoadBalancer")
	networks := netattv1.GroupVersion
	addNamed(m, networks.WithKind("NetworkAttachmentDefinition"), networks.WithResource("network-attachment-definitions"), meta.RESTScopeNamespace)
	return m
}

func addKind(m *meta.DefaultRESTMapper, gvk schema.GroupVersionKind, scope meta.RESTScope) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	addNamed(m, gvk, plural, scope)
}

// addNamed adds a kind and its list, which caches look up, too. A resource maps to the kind that was added last.
func addNamed(m *meta.DefaultRESTMapper, gvk schema.GroupVersionKind, plural schema.GroupVersionResource, scope meta.RESTScope) {
	m.AddSpecific(gvk.GroupVersion().WithKind(gvk.Kind+"List"), plural, plural, scope)
	m.AddSpecific(gvk, plural, plural, scope)
}

// strip drops fields that are not read, and most fields of virtual machines that were not created by Faultline.
func strip(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil
	}
	object.SetManagedFields(nil)
	switch o := o.(type) {
	case *corev1.Node:
		o.Status.Images = nil
	case *kubevirtv1.VirtualMachine:
		if !createdByFaultline(o) {
			o.Spec, o.Status = kubevirtv1.VirtualMachineSpec{}, kubevirtv1.VirtualMachineStatus{}
		}
	case *kubevirtv1.VirtualMachineInstance:
		if !createdByFaultline(o) {
			o.Spec = kubevirtv1.VirtualMachineInstanceSpec{}
		}
	}
	return o, nil
}
