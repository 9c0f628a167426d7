// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Config is the configuration of a host.
type Config struct {
	Image                           *bmov1alpha1.Image
	CustomDeploy                    *bmov1alpha1.CustomDeploy
	UserData, MetaData, NetworkData *corev1.SecretReference
	// CleaningMode is the cleaning mode for the disks after release; "" keeps the mode of the host.
	CleaningMode bmov1alpha1.AutomatedCleaningMode
}

// Configure writes the configuration to a claimed host and powers it on.
func (h *Hosts) Configure(ctx context.Context, host *bmov1alpha1.BareMetalHost, config *Config) error {
	before := host.DeepCopy()
	config.apply(host)
	if equality.Semantic.DeepEqual(before.Spec, host.Spec) {
		return nil
	}
	return h.patch(ctx, host, before)
}

// apply does not change the image of a host that has one: that would wipe the host.
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

// inNamespace returns the reference with the namespace of the host, whatever namespace it names: the operator would read Secrets
// of any namespace.
func inNamespace(ref *corev1.SecretReference, namespace string) *corev1.SecretReference {
	if ref == nil {
		return nil
	}
	return &corev1.SecretReference{Name: ref.Name, Namespace: namespace}
}
