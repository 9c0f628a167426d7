// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults, validates and converts the metal3 kinds.
//
// A rule is a function that returns the errors in a spec at a path. Each error names the field and how to fix it. An update is
// only rejected for errors that the old object did not have, so that every stored object can be updated and deleted. Checks of
// the CRDs are not repeated.
package webhook

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// kinds returns the webhooks of all kinds.
func kinds(reader client.Reader) []rules.Kind {
	convert := conversion.New()
	spec, templateSpec := field.NewPath("spec"), field.NewPath("spec", "template", "spec")
	return []rules.Kind{
		rules.Webhooks[*infrav1.Metal3Cluster]{
			Converter: convert.Cluster, Default: defaultCluster, Validate: validateClusterObject, Update: updateCluster(reader),
			Warn: func(cluster *infrav1.Metal3Cluster) admission.Warnings { return warnCluster(cluster.Spec, spec) },
		},
		rules.Webhooks[*infrav1.Metal3ClusterTemplate]{
			Converter: convert.ClusterTemplate, Validate: validateClusterTemplate,
			Warn: func(template *infrav1.Metal3ClusterTemplate) admission.Warnings {
				return warnCluster(template.Spec.Template.Spec, templateSpec)
			},
		},
		rules.Webhooks[*infrav1.Metal3Data]{Converter: convert.Data, Validate: validateData, Change: changeData},
		rules.Webhooks[*infrav1.Metal3DataClaim]{Converter: convert.DataClaim, Validate: validateDataClaim, Change: changeDataClaim},
		rules.Webhooks[*infrav1.Metal3DataTemplate]{
			Converter: convert.DataTemplate, Validate: validateDataTemplateObject, Change: changeDataTemplate,
			Warn: func(template *infrav1.Metal3DataTemplate) admission.Warnings {
				return warnDataTemplate(template.Spec, spec)
			},
		},
		rules.Webhooks[*infrav1.Metal3Machine]{
			Converter: convert.Machine, Validate: validateMachineObject,
			Warn: func(machine *infrav1.Metal3Machine) admission.Warnings { return warnMachine(machine.Spec, spec) },
		},
		rules.Webhooks[*infrav1.Metal3MachineTemplate]{
			Converter: convert.MachineTemplate, Validate: validateMachineTemplate, Warn: warnMachineTemplate, Update: updateMachineTemplate,
		},
		rules.Webhooks[*infrav1.Metal3Remediation]{Converter: convert.Remediation, Default: defaultRemediation},
		rules.Webhooks[*infrav1.Metal3RemediationTemplate]{Converter: convert.RemediationTemplate, Default: defaultRemediationTemplate},
	}
}

// SetupWithManager registers the webhooks of all kinds. The manager's scheme must contain both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr, kinds(mgr.GetAPIReader())...)
}

// Written returns the create validation of all kinds, for objects of either version outside of a webhook.
func Written() (rules.Validators, error) {
	return rules.NewValidators(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1beta1.AddToScheme(scheme))
	}, kinds(nil)...)
}
