// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

const (
	// refusalCheck is the interval at which a dry run checks whether the API server rejects a host.
	refusalCheck = 50 * time.Millisecond
	// refusalTimeout limits these checks.
	refusalTimeout = time.Minute
)

// RefuseUpdates makes the API server reject every update of a host except of its status, until AcceptUpdates. It returns once
// that is in effect. The host can still be deleted.
func RefuseUpdates(ctx context.Context, c client.Client, host types.NamespacedName, message string) error {
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: refusalMeta(host), Spec: refusalOf(host, message)}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := c.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("refusing updates of host %s: %w", host.Name, err)
		}
	}
	return awaitRefusal(ctx, c, host, true)
}

// AcceptUpdates reverts RefuseUpdates.
func AcceptUpdates(ctx context.Context, c client.Client, host types.NamespacedName) error {
	meta := refusalMeta(host)
	err := errors.Join(
		client.IgnoreNotFound(c.Delete(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta})),
		client.IgnoreNotFound(c.Delete(ctx, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta})),
	)
	if err != nil {
		return fmt.Errorf("accepting updates of host %s: %w", host.Name, err)
	}
	return awaitRefusal(ctx, c, host, false)
}

func refusalMeta(host types.NamespacedName) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "refuse." + host.Namespace + "." + host.Name}
}

func refusalOf(host types.NamespacedName, message string) admissionv1.ValidatingAdmissionPolicySpec {
	return admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: host.Namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{host.Name},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{bmov1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"baremetalhosts"},
					},
				},
			}},
		},
		Validations: []admissionv1.Validation{{Expression: "has(object.metadata.deletionTimestamp)", Message: message}},
	}
}

// awaitRefusal waits until the API server has loaded or unloaded the policy.
func awaitRefusal(ctx context.Context, c client.Client, host types.NamespacedName, wanted bool) error {
	probe := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"simulator":"probe"}}}`))
	err := wait.PollUntilContextTimeout(ctx, refusalCheck, refusalTimeout, true, func(ctx context.Context) (bool, error) {
		object := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name}}
		err := c.Patch(ctx, object, probe, client.DryRunAll)
		refused := apierrors.IsInvalid(err)
		if err != nil && !refused {
			return false, err
		}
		return refused == wanted, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server to apply the policy of host %s: %w", host.Name, err)
	}
	return nil
}
