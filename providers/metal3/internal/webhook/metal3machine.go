// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3machine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=create;update,versions=v1beta2,name=validation.metal3machine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

func validateMachineObject(machine *infrav1.Metal3Machine) field.ErrorList {
	return validateMachine(machine.Spec, machine.Namespace, field.NewPath("spec"))
}

// validateMachine validates a machine spec, of a machine or a template.
func validateMachine(spec infrav1.Metal3MachineSpec, namespace string, path *field.Path) field.ErrorList {
	errs := validateDeploy(spec, path)
	errs = append(errs, validateHostSelector(spec.HostSelector, path.Child("hostSelector"))...)
	errs = append(errs, validateSecret(spec.UserData, namespace, path.Child("userData"))...)
	errs = append(errs, validateSecret(spec.MetaData, namespace, path.Child("metaData"))...)
	errs = append(errs, validateSecret(spec.NetworkData, namespace, path.Child("networkData"))...)
	if ref := spec.DataTemplate; ref != nil {
		errs = append(errs, validateNamespace(ref.Namespace, namespace, path.Child("dataTemplate", "namespace"))...)
	}
	errs = append(errs, validateDomainName(spec.FailureDomain, path.Child("failureDomain"))...)
	if id := spec.ProviderID; id != "" && !strings.HasPrefix(id, infrav1.ProviderIDPrefix) {
		errs = append(errs, field.Invalid(path.Child("providerID"), id,
			"must be "+infrav1.ProviderIDPrefix+"namespace/host/machine: remove it, and the controller sets it"))
	}
	return errs
}

// warnMachine returns warnings about valid but surprising settings of a machine.
func warnMachine(spec infrav1.Metal3MachineSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if _, ok := spec.HostSelector.MatchLabels[infrav1.FailureDomainLabel]; ok {
		warnings = append(warnings, rules.Warning(path.Child("hostSelector", "matchLabels"),
			"%s keeps the machine in one failure domain whatever domain the Machine names: set the failure domain in the Machine instead",
			infrav1.FailureDomainLabel))
	}
	if spec.Image.IsDefined() && spec.CustomDeploy.Method == "" && isPlainHTTP(spec.Image) {
		warnings = append(warnings, rules.Warning(path.Child("image", "checksum"),
			"is fetched over HTTP, so an attacker who can change the image in transit can also change its checksum: "+
				"set the checksum itself, or use HTTPS"))
	}
	return warnings
}
