// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RKE2 is the kind RKE2ControlPlane of Rancher's RKE2, in its versions v1beta1 and v1beta2. It replaces machines like a
// KubeadmControlPlane, with these differences:
//
//   - It has no field to replace all machines.
//   - It keeps the annotation of a remediation, and ignores it once it has created a machine.
//   - It derives EtcdClusterHealthy from Nodes, not from etcd.
//   - With the annotation of legacy control planes it does not remove etcd members.
type RKE2 struct{}

// rke2Legacy on an RKE2ControlPlane is an annotation: the provider does not manage its etcd members.
const rke2Legacy = "controlplane.cluster.x-k8s.io/legacy"

// rke2Object has the used fields of a RKE2ControlPlane as they are serialized, in both versions.
type rke2Object struct {
	Spec struct {
		Replicas        *int32 `json:"replicas"`
		Version         string `json:"version"`
		MachineTemplate struct {
			InfrastructureRef rke2Reference `json:"infrastructureRef"` // v1beta1
			Spec              struct {
				InfrastructureRef rke2Reference `json:"infrastructureRef"`
			} `json:"spec"`
		} `json:"machineTemplate"`
		ServerConfig struct {
			ExternalDatastoreSecret *struct{} `json:"externalDatastoreSecret"`
		} `json:"serverConfig"`
		RolloutStrategy struct {
			RollingUpdate struct {
				MaxSurge *intstr.IntOrString `json:"maxSurge"`
			} `json:"rollingUpdate"`
		} `json:"rolloutStrategy"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
		V1Beta2            struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"v1beta2"`
	} `json:"status"`
}

// rke2Reference is a reference to a template. It has a version in v1beta1 and a group in v1beta2.
type rke2Reference struct {
	APIVersion string `json:"apiVersion"`
	APIGroup   string `json:"apiGroup"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Facts implements ControlPlaneKind.
func (RKE2) Facts() ControlPlaneFacts {
	return ControlPlaneFacts{
		Kind:     schema.GroupKind{Group: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane"},
		Provider: "rke2", OldestTested: "v0.25.0", Surge: "spec.rolloutStrategy.rollingUpdate.maxSurge",
	}
}

// New implements ControlPlaneKind.
func (k RKE2) New(mapper meta.RESTMapper) (client.Object, error) {
	mapping, err := mapper.RESTMapping(k.Facts().Kind)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	return object, nil
}

// ProtectsQuorum implements ControlPlaneKind. A legacy control plane removes its hook without a look at etcd.
func (RKE2) ProtectsQuorum(object client.Object) bool {
	if object == nil {
		return false
	}
	_, legacy := object.GetAnnotations()[rke2Legacy]
	return !legacy
}

// Observe implements ControlPlaneKind.
func (k RKE2) Observe(object client.Object) (ControlPlane, error) {
	from, is := object.(*unstructured.Unstructured)
	if !is {
		return ControlPlane{}, fmt.Errorf("reading a RKE2ControlPlane from %T", object)
	}
	var o rke2Object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &o); err != nil {
		return ControlPlane{}, fmt.Errorf("reading RKE2ControlPlane %s: %w", from.GetName(), err)
	}
	template, all := o.Spec.MachineTemplate.Spec.InfrastructureRef, o.Status.Conditions
	group := template.APIGroup
	if from.GroupVersionKind().Version == "v1beta1" {
		template, all = o.Spec.MachineTemplate.InfrastructureRef, o.Status.V1Beta2.Conditions
		group = schema.FromAPIVersionAndKind(template.APIVersion, template.Kind).Group
	}
	cp := ControlPlane{
		Kind: k, Name: "RKE2ControlPlane " + from.GetName(), Paused: annotations.HasPaused(from), Deleting: !from.GetDeletionTimestamp().IsZero(),
		Replicas: int(ptr.Deref(o.Spec.Replicas, 1)), Observed: o.Status.ObservedGeneration == from.GetGeneration(), MaxSurge: 1,
		Remediation: remediationOf(from.GetAnnotations()), ExternalEtcd: o.Spec.ServerConfig.ExternalDatastoreSecret != nil,
		Template: template.Name, TemplateKind: schema.GroupKind{Group: group, Kind: template.Kind}.String(), Kubernetes: o.Spec.Version,
	}
	cp.Remediation.Kept = cp.Remediation.Noted
	cp.setConditions(all)
	if surge := o.Spec.RolloutStrategy.RollingUpdate.MaxSurge; surge != nil {
		cp.MaxSurge = surge.IntValue()
	}
	if _, legacy := from.GetAnnotations()[rke2Legacy]; legacy {
		cp.Unable = "has the annotation " + rke2Legacy + ", so it does not remove etcd members and cannot replace single machines"
	}
	return cp, nil
}
