// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults, validates and converts the vSphere kinds.
//
// A rule is a function from a spec and its path to errors. Each error names the field and its fix. On update, only errors that
// the old object did not have count, so that an object admitted once can always be updated and deleted. The webhooks do not
// repeat the checks of the CRDs.
package webhook

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// kinds returns the webhooks of all kinds.
func kinds(reader client.Reader) []rules.Kind {
	spec, templateSpec := field.NewPath("spec"), field.NewPath("spec", "template", "spec")
	convert := conversion.New()
	zone, domain := vsphereDeploymentZone{reader: reader}, vsphereFailureDomain{reader: reader}
	return []rules.Kind{
		rules.Webhooks[*infrav1.VSphereCluster]{
			Converter: convert.Cluster, Validate: validateClusterObject,
			Warn: func(cluster *infrav1.VSphereCluster) admission.Warnings { return warnCluster(cluster.Spec, spec) },
		},
		rules.Webhooks[*infrav1.VSphereClusterIdentity]{
			Converter: convert.ClusterIdentity, Validate: validateIdentityObject,
			Warn: func(identity *infrav1.VSphereClusterIdentity) admission.Warnings {
				return warnIdentity(identity.Spec, spec)
			},
		},
		rules.Webhooks[*infrav1.VSphereClusterTemplate]{
			Converter: convert.ClusterTemplate, Validate: validateClusterTemplate, Change: changeClusterTemplate,
			Warn: func(template *infrav1.VSphereClusterTemplate) admission.Warnings {
				return warnCluster(template.Spec.Template.Spec, templateSpec)
			},
		},
		rules.Webhooks[*infrav1.VSphereDeploymentZone]{
			Converter: convert.DeploymentZone, Default: defaultZone, Validate: validateZoneObject, Create: zone.create, Update: zone.update,
		},
		rules.Webhooks[*infrav1.VSphereFailureDomain]{
			Converter: convert.FailureDomain, Default: domain.setDefaults, Validate: validateDomainObject, Update: domain.update, Delete: domain.delete,
		},
		rules.Webhooks[*infrav1.VSphereMachine]{
			Converter: convert.Machine, Default: defaultMachine, Validate: validateMachineObject, Change: changeMachine,
			Warn: func(machine *infrav1.VSphereMachine) admission.Warnings { return warnMachine(machine.Spec, spec) },
		},
		rules.Webhooks[*infrav1.VSphereMachineTemplate]{
			Converter: convert.MachineTemplate, Default: defaultMachineTemplate, Validate: validateTemplateObject, Update: updateMachineTemplate,
			Warn: func(template *infrav1.VSphereMachineTemplate) admission.Warnings {
				return warnMachineTemplate(template.Spec.Template.Spec, templateSpec)
			},
		},
		rules.Webhooks[*infrav1.VSphereVM]{Converter: convert.VM, Default: defaultVM, Validate: validateVMObject, Change: changeVM},
	}
}

// SetupWithManager registers the webhooks of all kinds. The manager's scheme must have both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr, kinds(mgr.GetAPIReader())...)
}

// Written returns the create validation of all kinds, for callers outside of a webhook that have objects of either version.
func Written() (rules.Validators, error) {
	return rules.NewValidators(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1beta1.AddToScheme(scheme))
	}, kinds(nil)...)
}
