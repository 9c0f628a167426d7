// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults, validates and converts the Harvester kinds.
//
// A rule is a function from a spec and its path to a list of errors. Each error names the field and the fix. On update only errors
// that the object did not have before count, so that an object that was once accepted can always be updated and deleted. Checks of
// the CRDs are not repeated. The webhooks do not read from Harvester: objects that are missing there are reported in conditions.
package webhook

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// Webhooks holds the webhooks of every kind.
type Webhooks struct {
	// Consent determines what a cluster may use in other namespaces.
	Consent owned.Consent
}

// SetupWithManager registers the webhooks. The manager's scheme must have both versions.
func (w Webhooks) SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr, w.kinds(mgr.GetAPIReader())...)
}

// kinds returns the webhooks of every kind.
func (w Webhooks) kinds(reader client.Reader) []rules.Kind {
	spec, templateSpec := field.NewPath("spec"), field.NewPath("spec", "template", "spec")
	cluster := harvesterCluster{Reader: reader, Consent: w.Consent}
	return []rules.Kind{
		rules.Webhooks[*infrav1.HarvesterCluster]{
			Converter: conversion.LosslessPair(v1alpha1Annotation, clusterFromHub, clusterToHub), Default: defaultCluster, Validate: validateClusterObject, Warn: warnClusterObject,
			Create: cluster.create, Update: cluster.update,
		},
		rules.Webhooks[*infrav1.HarvesterClusterTemplate]{
			Converter: conversion.LosslessPair(v1alpha1Annotation, clusterTemplateFromHub, clusterTemplateToHub), Validate: validateClusterTemplate,
			Warn: func(template *infrav1.HarvesterClusterTemplate) admission.Warnings {
				return warnClusterTemplate(template.Spec.Template.Spec, templateSpec)
			},
		},
		rules.Webhooks[*infrav1.HarvesterMachine]{
			Converter: conversion.LosslessPair(v1alpha1Annotation, machineFromHub, machineToHub), Validate: validateMachineObject, Create: createMachine(reader), Change: changeMachine,
			Warn: func(machine *infrav1.HarvesterMachine) admission.Warnings { return warnMachine(machine.Spec, spec) },
		},
		rules.Webhooks[*infrav1.HarvesterMachineTemplate]{
			Converter: conversion.LosslessPair(v1alpha1Annotation, machineTemplateFromHub, machineTemplateToHub), Validate: validateTemplateObject, Update: updateMachineTemplate,
			Warn: func(template *infrav1.HarvesterMachineTemplate) admission.Warnings {
				return warnMachineTemplate(template.Spec.Template.Spec, templateSpec)
			},
		},
	}
}

// Written returns the create validation of every kind, for objects in either version outside of a webhook.
func Written() (rules.Validators, error) {
	return rules.NewValidators(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}, Webhooks{}.kinds(nil)...)
}
