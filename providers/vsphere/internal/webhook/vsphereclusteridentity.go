// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vsphereclusteridentity,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusteridentities,verbs=create;update,versions=v1beta2,name=validation.vsphereclusteridentity.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

func validateIdentityObject(identity *infrav1.VSphereClusterIdentity) field.ErrorList {
	return validateIdentity(identity.Spec, field.NewPath("spec"))
}

func validateIdentity(spec infrav1.VSphereClusterIdentitySpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if problems := validation.IsDNS1123Subdomain(spec.SecretName); len(problems) > 0 {
		errs = append(errs, field.Invalid(path.Child("secretName"), spec.SecretName,
			"must be the name of a Secret in the namespace of the manager: "+strings.Join(problems, "; ")))
	}
	for i, server := range spec.Servers {
		errs = append(errs, validateHost(server, path.Child("servers").Index(i))...)
	}
	if allowed := spec.AllowedNamespaces; allowed != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(&allowed.Selector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("allowedNamespaces", "selector"))...)
	}
	return errs
}

func warnIdentity(spec infrav1.VSphereClusterIdentitySpec, path *field.Path) admission.Warnings {
	if spec.AllowedNamespaces == nil {
		return admission.Warnings{rules.Warning(path.Child("allowedNamespaces"),
			"is not set, so no namespace may use the identity; an empty selector allows all namespaces")}
	}
	if len(spec.Servers) == 0 {
		return admission.Warnings{rules.Warning(path.Child("servers"),
			"is not set, so every user who may create clusters in the allowed namespaces can have the credentials sent to any server")}
	}
	return nil
}
