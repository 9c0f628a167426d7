// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// Metal3Data validates Metal3Datas.
type Metal3Data struct {
	rules.Deletable[*infrav1.Metal3Data]
}

var _ admission.Validator[*infrav1.Metal3Data] = &Metal3Data{}

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3data,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=create;update,versions=v1beta2,name=validation.metal3data.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhook, and what converts the kind.
func (w *Metal3Data) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3Data{}).WithValidator(w).WithConverter(conversion.Data()).Complete()
}

// ValidateCreate refuses data whose name does not say which index it has: the
// name is what keeps two machines from having the same.
func (w *Metal3Data) ValidateCreate(_ context.Context, data *infrav1.Metal3Data) (admission.Warnings, error) {
	return nil, refuse("Metal3Data", data.Name, validateData(data))
}

// ValidateUpdate refuses to give the data to another machine.
func (w *Metal3Data) ValidateUpdate(_ context.Context, before, after *infrav1.Metal3Data) (admission.Warnings, error) {
	errs := rules.Added(validateData(before), validateData(after))
	errs = append(errs, rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"),
		"create another Metal3DataClaim, and the controller makes data for it",
		"metaData.name", "metaData.namespace", "networkData.name", "networkData.namespace")...)
	return nil, refuse("Metal3Data", after.Name, errs)
}

func validateData(data *infrav1.Metal3Data) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateObject(data.Spec.Template, "Metal3DataTemplate", data.Namespace, path.Child("template"))
	errs = append(errs, validateObject(data.Spec.Claim, "Metal3DataClaim", data.Namespace, path.Child("claim"))...)
	errs = append(errs, validateSecret(data.Spec.MetaData, data.Namespace, path.Child("metaData"))...)
	errs = append(errs, validateSecret(data.Spec.NetworkData, data.Namespace, path.Child("networkData"))...)
	if data.Spec.Index < 0 {
		errs = append(errs, field.Invalid(path.Child("index"), data.Spec.Index, "must be 0 or more"))
	}
	if want := fmt.Sprintf("%s-%d", data.Spec.Template.Name, data.Spec.Index); data.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), data.Name,
			"must be the name of the template and the index, which is "+want))
	}
	return errs
}
