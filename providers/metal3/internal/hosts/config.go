// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Config is what a host is to run.
type Config struct {
	Image                           *bmov1alpha1.Image
	CustomDeploy                    *bmov1alpha1.CustomDeploy
	UserData, MetaData, NetworkData *corev1.SecretReference
	// CleaningMode is what happens to the disks afterwards; "" leaves it to the host.
	CleaningMode bmov1alpha1.AutomatedCleaningMode
}

// Configure gives a claimed host what it is to run and powers it on.
func (h *Hosts) Configure(ctx context.Context, host *bmov1alpha1.BareMetalHost, config *Config) error {
	before := host.DeepCopy()
	config.apply(host)
	if equality.Semantic.DeepEqual(before.Spec, host.Spec) {
		return nil
	}
	return h.patch(ctx, host, before)
}

// apply leaves a host that has an image already as it is: to change what runs on it would mean to wipe it.
func (c *Config) apply(host *bmov1alpha1.BareMetalHost) {
	if host.Spec.Image == nil && host.Spec.CustomDeploy == nil {
		host.Spec.Image, host.Spec.CustomDeploy = c.Image, c.CustomDeploy
		host.Spec.UserData = inNamespace(c.UserData, host.Namespace)
		if c.MetaData != nil {
			host.Spec.MetaData = inNamespace(c.MetaData, host.Namespace)
		}
		if c.NetworkData != nil {
			host.Spec.NetworkData = inNamespace(c.NetworkData, host.Namespace)
		}
	}
	if c.CleaningMode != "" {
		host.Spec.AutomatedCleaningMode = c.CleaningMode
	}
	host.Spec.Online = true
}

// inNamespace is the Secret of that name in the namespace of the host, whichever the reference names: the operator would read any.
func inNamespace(ref *corev1.SecretReference, namespace string) *corev1.SecretReference {
	if ref == nil {
		return nil
	}
	return &corev1.SecretReference{Name: ref.Name, Namespace: namespace}
}
