// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// StripObjects makes a cache keep only the fields of Machines and Secrets that providers read, because there are many of them.
// Patches do not change the dropped fields: they are missing before and after.
func StripObjects(options *cache.Options) {
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[&clusterv1.Machine{}] = cache.ByObject{Transform: stripMachine}
	options.ByObject[&corev1.Secret{}] = cache.ByObject{Transform: stripSecret}
}

// stripMachine drops fields that Cluster API copies from other objects. v1beta1 conditions are kept: the quorum controller reads
// some, and a remediation writes one.
func stripMachine(o any) (any, error) {
	if machine, ok := o.(*clusterv1.Machine); ok {
		machine.ManagedFields = nil
		machine.Status.NodeInfo, machine.Status.Addresses = nil, nil
	}
	return o, nil
}

// stripSecret keeps the name, resourceVersion and owners of a Secret, and the namespaces that may use it. Only the metadata of
// Secrets is watched.
func stripSecret(o any) (any, error) {
	if secret, ok := o.(*metav1.PartialObjectMetadata); ok {
		allowed, limited := faultlinev1.Lookup(secret.Annotations, faultlinev1.AllowedNamespacesAnnotation)
		secret.ManagedFields, secret.Labels, secret.Annotations = nil, nil, nil
		if limited {
			secret.Annotations = map[string]string{faultlinev1.AllowedNamespacesAnnotation: allowed}
		}
	}
	return o, nil
}
