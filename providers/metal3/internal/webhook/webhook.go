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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of every kind. The manager's scheme
// has both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr, kinds(mgr.GetAPIReader())...)
}

// Written has the rules of creating objects of every kind, for those who have them as they are written in either version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1beta1.AddToScheme(scheme))
	}, kinds(nil)...)
}

func kinds(reader client.Reader) []rules.Kind {
	return []rules.Kind{
		{Name: "Metal3Cluster", Webhooks: &Metal3Cluster{Reader: reader}, Creation: rules.Create(conversion.Cluster(), validateClusterObject)},
		{Name: "Metal3ClusterTemplate", Webhooks: &Metal3ClusterTemplate{}, Creation: rules.Create(conversion.ClusterTemplate(), validateClusterTemplate)},
		{Name: "Metal3Data", Webhooks: &Metal3Data{}, Creation: rules.Create(conversion.Data(), validateData)},
		{Name: "Metal3DataClaim", Webhooks: &Metal3DataClaim{}, Creation: rules.Create(conversion.DataClaim(), validateDataClaim)},
		{Name: "Metal3DataTemplate", Webhooks: &Metal3DataTemplate{}, Creation: rules.Create(conversion.DataTemplate(), validateDataTemplateObject)},
		{Name: "Metal3Machine", Webhooks: &Metal3Machine{}, Creation: rules.Create(conversion.Machine(), validateMachineObject)},
		{Name: "Metal3MachineTemplate", Webhooks: &Metal3MachineTemplate{}, Creation: rules.Create(conversion.MachineTemplate(), validateMachineTemplate)},
		{Name: "Metal3Remediation", Webhooks: &Metal3Remediation{}},
		{Name: "Metal3RemediationTemplate", Webhooks: &Metal3RemediationTemplate{}},
	}
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
