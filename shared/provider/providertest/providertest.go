// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providertest implements an infrastructure for tests of shared code. A test sets the state of its failure domains and
// the placement of its machines. ControlPlane simulates a KubeadmControlPlane.
package providertest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
)

// GroupVersion is the group and version of the test kinds.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"} //nolint:gochecknoglobals // a constant

// Provider implements provider.Provider. Domains returns Seen for every cluster, unless Err is set.
type Provider struct {
	Seen []distribution.DomainObservation
	Err  error
}

// Name returns "test".
func (Provider) Name() string { return "test" }

// NewCluster returns an empty Cluster.
func (Provider) NewCluster() provider.Cluster { return &Cluster{} }

// NewMachine returns an empty Machine.
func (Provider) NewMachine() client.Object { return &Machine{} }

// Domains returns Seen, or Err.
func (p Provider) Domains(context.Context, provider.Cluster) ([]distribution.DomainObservation, error) {
	return p.Seen, p.Err
}

// Capabilities returns none. A test that needs some embeds Provider.
func (Provider) Capabilities() provider.Capabilities { return provider.Capabilities{} }

// Location returns the status of a Machine.
func (Provider) Location(machine client.Object) provider.Location { return machine.(*Machine).Status }

// AddToScheme registers the test kinds, so that a fake client or an API server with the CRDs can store them.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Cluster{}, &ClusterList{}, &Machine{}, &MachineList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Machine is an infrastructure machine.
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            provider.Location `json:"status,omitempty"`
}

// DeepCopyObject copies the machine.
func (m *Machine) DeepCopyObject() runtime.Object {
	meta := m.ObjectMeta
	return &Machine{TypeMeta: m.TypeMeta, ObjectMeta: *meta.DeepCopy(), Status: m.Status}
}

// Cluster is an infrastructure cluster.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ClusterSpec   `json:"spec,omitempty"`
	Status            ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is the desired state of a Cluster.
type ClusterSpec struct {
	Distribution faultlinev1.Distribution `json:"distribution,omitempty"`
}

// ClusterStatus is the observed state of a Cluster.
type ClusterStatus struct {
	Conditions     []metav1.Condition             `json:"conditions,omitempty"`
	FailureDomains []clusterv1.FailureDomain      `json:"failureDomains,omitempty"`
	Distribution   faultlinev1.DistributionStatus `json:"distribution,omitempty"`
}

// GetConditions returns the conditions.
func (c *Cluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *Cluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// Distribution returns pointers to spec.distribution and status.distribution.
func (c *Cluster) Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus) {
	return &c.Spec.Distribution, &c.Status.Distribution
}

// FailureDomains returns a pointer to the published failure domains.
func (c *Cluster) FailureDomains() *[]clusterv1.FailureDomain { return &c.Status.FailureDomains }

// DeepCopyObject copies the cluster.
func (c *Cluster) DeepCopyObject() runtime.Object {
	meta := c.ObjectMeta
	out := &Cluster{TypeMeta: c.TypeMeta, ObjectMeta: *meta.DeepCopy()}
	out.Spec.Distribution = *c.Spec.Distribution.DeepCopy()
	out.Status.Distribution = *c.Status.Distribution.DeepCopy()
	for i := range c.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *c.Status.Conditions[i].DeepCopy())
	}
	for i := range c.Status.FailureDomains {
		out.Status.FailureDomains = append(out.Status.FailureDomains, *c.Status.FailureDomains[i].DeepCopy())
	}
	return out
}
