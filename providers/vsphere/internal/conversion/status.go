// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func conditionsToHub(src *v1beta1.V1Beta2Status) []metav1.Condition {
	if src == nil {
		return nil
	}
	return src.Conditions
}

func conditionsFromHub(conditions []metav1.Condition) *v1beta1.V1Beta2Status {
	if len(conditions) == 0 {
		return nil
	}
	return &v1beta1.V1Beta2Status{Conditions: conditions}
}

func deprecatedToHub(conditions clusterv1.Conditions) *infrav1.DeprecatedStatus { //nolint:staticcheck // it is what v1beta1 shows
	if len(conditions) == 0 {
		return nil
	}
	return &infrav1.DeprecatedStatus{V1Beta1: &infrav1.V1Beta1DeprecatedStatus{Conditions: conditions}}
}

func deprecatedFromHub(src *infrav1.DeprecatedStatus) clusterv1.Conditions { //nolint:staticcheck // it is what v1beta1 shows
	if src == nil || src.V1Beta1 == nil {
		return nil
	}
	return src.V1Beta1.Conditions
}

func failureToHub(conditions clusterv1.Conditions, reason, message *string) *infrav1.MachineDeprecatedStatus { //nolint:staticcheck // it is what v1beta1 shows
	if len(conditions) == 0 && reason == nil && message == nil {
		return nil
	}
	return &infrav1.MachineDeprecatedStatus{V1Beta1: &infrav1.MachineV1Beta1DeprecatedStatus{
		Conditions: conditions, FailureReason: reason, FailureMessage: message,
	}}
}

func failureFromHub(src *infrav1.MachineDeprecatedStatus) (conditions clusterv1.Conditions, reason, message *string) { //nolint:staticcheck // it is what v1beta1 shows
	if src == nil || src.V1Beta1 == nil {
		return nil, nil, nil
	}
	return src.V1Beta1.Conditions, src.V1Beta1.FailureReason, src.V1Beta1.FailureMessage
}
