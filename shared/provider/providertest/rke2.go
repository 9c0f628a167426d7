// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RKE2Kind returns the kind RKE2ControlPlane in a version, v1beta1 or v1beta2.
func RKE2Kind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: version, Kind: "RKE2ControlPlane"}
}

// RKE2CRD returns the CRD of RKE2ControlPlanes, with both versions.
func RKE2CRD() *apiextensionsv1.CustomResourceDefinition {
	crd := CRD(RKE2Kind("v1beta2"))
	older := crd.Spec.Versions[0].DeepCopy()
	older.Name, older.Storage = "v1beta1", false
	crd.Spec.Versions = append(crd.Spec.Versions, *older)
	return crd
}

// RKE2ControlPlane returns an RKE2ControlPlane without a status as users of a version write it.
func RKE2ControlPlane(meta metav1.ObjectMeta, version string, replicas int, template clusterv1.ContractVersionedObjectReference) *unstructured.Unstructured {
	machineTemplate := map[string]any{"spec": map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": template.APIGroup, "kind": template.Kind, "name": template.Name},
	}}
	if version == "v1beta1" {
		machineTemplate = map[string]any{
			"infrastructureRef": map[string]any{"apiVersion": template.APIGroup + "/v1beta2", "kind": template.Kind, "name": template.Name},
		}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(replicas), "version": "v1.36.1+rke2r1", "registrationMethod": "internal-first",
		"rolloutStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}},
		"serverConfig":    map[string]any{"cni": "cilium"}, "machineTemplate": machineTemplate,
	}}}
	o.SetGroupVersionKind(RKE2Kind(version))
	o.SetNamespace(meta.Namespace)
	o.SetName(meta.Name)
	o.SetLabels(meta.Labels)
	return o
}

// ReportRKE2 sets the status of an RKE2ControlPlane in the version of the object: healthy, with the given conditions. It has no condition
// RollingOut until the first rollout.
func ReportRKE2(o *unstructured.Unstructured, isTrue map[string]bool) {
	all := map[string]bool{
		"EtcdClusterHealthy": true, "ControlPlaneComponentsHealthy": true, clusterv1.MachinesUpToDateCondition: true,
		clusterv1.RollingOutCondition: false, clusterv1.ScalingUpCondition: false, clusterv1.ScalingDownCondition: false, clusterv1.RemediatingCondition: false,
	}
	for condition, is := range isTrue {
		all[condition] = is
	}
	if !isTrue[clusterv1.RollingOutCondition] && !hasRolledOut(o) {
		delete(all, clusterv1.RollingOutCondition)
	}
	var conditions []any
	for condition, is := range all {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		conditions = append(conditions, map[string]any{
			"type": condition, "status": string(status), "reason": "Reason", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
	}
	status := map[string]any{"observedGeneration": o.GetGeneration(), "conditions": conditions}
	if o.GroupVersionKind().Version == "v1beta1" {
		// The conditions of this version have other types.
		status["conditions"] = []any{map[string]any{"type": "MachinesSpecUpToDate", "status": "False", "severity": "Info", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
		status["v1beta2"] = map[string]any{"conditions": conditions}
	}
	o.Object["status"] = status
}

// hasRolledOut reports whether an RKE2ControlPlane has the condition RollingOut.
func hasRolledOut(o *unstructured.Unstructured) bool {
	path := []string{"status", "conditions"}
	if o.GroupVersionKind().Version == "v1beta1" {
		path = []string{"status", "v1beta2", "conditions"}
	}
	all, _, _ := unstructured.NestedSlice(o.Object, path...) // or none
	return slices.ContainsFunc(all, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == clusterv1.RollingOutCondition
	})
}
