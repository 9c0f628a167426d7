// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3data,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=create;update,versions=v1beta2,name=validation.metal3data.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// changeData rejects assigning the data to another machine.
func changeData(before, after *infrav1.Metal3Data) field.ErrorList {
	return rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"),
		"create another Metal3DataClaim, and the controller creates its Metal3Data",
		"metaData.name", "metaData.namespace", "networkData.name", "networkData.namespace")
}

// validateData also rejects data whose name does not contain its index: the name ensures that no two machines have the same
// index.
func validateData(data *infrav1.Metal3Data) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateObject(data.Spec.Template, "Metal3DataTemplate", data.Namespace, path.Child("template"))
	errs = append(errs, validateObject(data.Spec.Claim, "Metal3DataClaim", data.Namespace, path.Child("claim"))...)
	errs = append(errs, validateSecret(data.Spec.MetaData, data.Namespace, path.Child("metaData"))...)
	errs = append(errs, validateSecret(data.Spec.NetworkData, data.Namespace, path.Child("networkData"))...)
	if data.Spec.Index < 0 {
		errs = append(errs, field.Invalid(path.Child("index"), data.Spec.Index, "must be greater than or equal to 0"))
	}
	if want := fmt.Sprintf("%s-%d", data.Spec.Template.Name, data.Spec.Index); data.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), data.Name,
			"must be the name of the template and the index: "+want))
	}
	return errs
}
