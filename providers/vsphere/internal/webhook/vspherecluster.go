// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspherecluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters,verbs=create;update,versions=v1beta2,name=validation.vspherecluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

func validateClusterObject(cluster *infrav1.VSphereCluster) field.ErrorList {
	return validateCluster(cluster.Spec, field.NewPath("spec"))
}

// validateCluster validates a cluster, on its own or in a template.
func validateCluster(spec infrav1.VSphereClusterSpec, path *field.Path) field.ErrorList {
	errs := validateServer(spec.Server, path.Child("server"))
	for i, server := range spec.AdditionalServers {
		errs = append(errs, validateServer(server, path.Child("additionalServers").Index(i))...)
	}
	errs = append(errs, validateThumbprint(spec.Thumbprint, path.Child("thumbprint"))...)
	errs = append(errs, metav1validation.ValidateLabelSelector(spec.FailureDomainSelector,
		metav1validation.LabelSelectorValidationOptions{}, path.Child("failureDomainSelector"))...)
	errs = append(errs, rules.Workers(spec.Distribution.Workers, path.Child("distribution", "workers"))...)
	return append(errs, validateModules(spec.ClusterModules, path.Child("clusterModules"))...)
}

// validateModules rejects a module that the machines of two owners would share.
func validateModules(modules []infrav1.ClusterModule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := map[string]bool{}
	for i, module := range modules {
		if known[module.ModuleUUID] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("moduleUUID"), module.ModuleUUID))
		}
		known[module.ModuleUUID] = true
	}
	return errs
}

// warnCluster warns about valid settings that have surprising effects.
func warnCluster(spec infrav1.VSphereClusterSpec, path *field.Path) admission.Warnings {
	return rules.WarnWorkers(spec.Distribution.Workers, path.Child("distribution", "workers"))
}
