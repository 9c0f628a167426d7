// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the metal3 kinds when they are
// written, and has them converted between their versions.
//
// A rule is a function from a spec, and its path, to the errors in it. Each
// error names the field and the way out. On update only errors that the object
// did not have before count, so that an object which was let in once can always
// be updated and deleted. What the CRDs check is not checked again.
package webhook

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of every kind. The manager's scheme
// has both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr,
		rules.Kind{Name: "Metal3Cluster", Webhooks: &Metal3Cluster{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "Metal3ClusterTemplate", Webhooks: &Metal3ClusterTemplate{}},
		rules.Kind{Name: "Metal3Data", Webhooks: &Metal3Data{}},
		rules.Kind{Name: "Metal3DataClaim", Webhooks: &Metal3DataClaim{}},
		rules.Kind{Name: "Metal3DataTemplate", Webhooks: &Metal3DataTemplate{}},
		rules.Kind{Name: "Metal3Machine", Webhooks: &Metal3Machine{}},
		rules.Kind{Name: "Metal3MachineTemplate", Webhooks: &Metal3MachineTemplate{}},
		rules.Kind{Name: "Metal3Remediation", Webhooks: &Metal3Remediation{}},
		rules.Kind{Name: "Metal3RemediationTemplate", Webhooks: &Metal3RemediationTemplate{}},
	)
}

// Written has the rules of creating objects of every kind, for those who have them as they are written in either version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1beta1.AddToScheme(scheme))
	}, map[string]rules.Creation{
		"Metal3Cluster":         rules.Create(conversion.Cluster(), validateClusterObject),
		"Metal3ClusterTemplate": rules.Create(conversion.ClusterTemplate(), validateClusterTemplate),
		"Metal3Data":            rules.Create(conversion.Data(), validateData),
		"Metal3DataClaim":       rules.Create(conversion.DataClaim(), validateDataClaim),
		"Metal3DataTemplate":    rules.Create(conversion.DataTemplate(), validateDataTemplateObject),
		"Metal3Machine":         rules.Create(conversion.Machine(), validateMachineObject),
		"Metal3MachineTemplate": rules.Create(conversion.MachineTemplate(), validateMachineTemplate),
	})
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
