// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// validatingPolicy is the name of the admission policy, shared by all simulators of an API server.
const validatingPolicy = "baremetalhost-simulator.metal3.io"

// ValidateHosts makes the API server reject hosts that the operator's webhook would reject. It returns before the policy is in
// effect.
func ValidateHosts(ctx context.Context, c client.Client) error {
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: validatingPolicy}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:    ptr.To(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: writes()}}},
		Validations:      validations(),
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: validatingPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	for _, object := range []client.Object{policy, binding} {
		if err := c.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating the validation policy of hosts: %w", err)
		}
	}
	return nil
}

// writes returns the rule for requests that the webhook handles.
func writes() admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{
			APIGroups: []string{bmov1alpha1.GroupVersion.Group}, APIVersions: []string{bmov1alpha1.GroupVersion.Version}, Resources: []string{"baremetalhosts"},
		},
	}
}

// validations returns the rules that a client can violate, with the operator's messages.
func validations() []admissionv1.Validation {
	const status = bmov1alpha1.StatusAnnotation
	return []admissionv1.Validation{
		{
			Expression: "!has(object.spec.disablePowerOff) || !object.spec.disablePowerOff || has(object.spec.online) && object.spec.online",
			Message:    "node can't simultaneously have online set to false and have power off disabled",
		},
		{
			Expression: "oldObject == null || !has(oldObject.spec.bootMACAddress) || oldObject.spec.bootMACAddress == '' || " +
				"has(object.spec.bootMACAddress) && object.spec.bootMACAddress.lowerAscii() == oldObject.spec.bootMACAddress.lowerAscii()",
			Message: "bootMACAddress can not be changed once it is set",
		},
		{
			Expression: "oldObject == null || !has(oldObject.spec.externallyProvisioned) || !oldObject.spec.externallyProvisioned || " +
				"has(object.spec.externallyProvisioned) && object.spec.externallyProvisioned",
			Message: "externallyProvisioned can not be changed from true to false",
		},
		{
			Expression: "!has(object.metadata.annotations) || !('" + status + "' in object.metadata.annotations) || !object.metadata.annotations['" + status +
				`'].matches('"operationalStatus":"servicing"|"errorType":"(servicing|detach) error"')`,
			Message: "invalid operationalStatus or errorType in the " + status + " annotation",
		},
	}
}
