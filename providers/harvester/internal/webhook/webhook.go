// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the Harvester kinds when they are
// written, and has them converted between their versions.
//
// A rule is a function from a spec, and its path, to the errors in it. Each
// error names the field and the way out. On update only errors that the object
// did not have before count, so that an object which was let in once can always
// be updated and deleted. What the CRDs check is not checked again. Nothing is
// asked of Harvester: what is missing there is a condition.
package webhook

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules"
)

// Webhooks are those of every kind.
type Webhooks struct {
	// Consent is what a cluster may use in other namespaces.
	Consent owned.Consent
}

// SetupWithManager registers them. The manager's scheme has both versions.
func (w Webhooks) SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr,
		rules.Kind{Name: "HarvesterCluster", Webhooks: &HarvesterCluster{Reader: mgr.GetAPIReader(), Consent: w.Consent}},
		rules.Kind{Name: "HarvesterClusterTemplate", Webhooks: &HarvesterClusterTemplate{}},
		rules.Kind{Name: "HarvesterMachine", Webhooks: &HarvesterMachine{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "HarvesterMachineTemplate", Webhooks: &HarvesterMachineTemplate{}},
	)
}

// Written has the rules of creating objects of every kind, for those who have them as they are written in either version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}, map[string]rules.Creation{
		"HarvesterCluster":         rules.Create(clusterConverter(), validateClusterObject),
		"HarvesterClusterTemplate": rules.Create(clusterTemplateConverter(), validateClusterTemplate),
		"HarvesterMachine":         rules.Create(machineConverter(), validateMachineObject),
		"HarvesterMachineTemplate": rules.Create(machineTemplateConverter(), validateTemplateObject),
	})
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
