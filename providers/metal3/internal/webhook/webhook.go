// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the metal3 kinds when they are
// written.
//
// A rule is a function from a spec, and its path, to the errors in it. Each
// error names the field and the way out. On update only errors that the object
// did not have before count, so that an object which was let in once can always
// be updated and deleted. What the CRDs check is not checked again.
package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of every kind.
func SetupWithManager(mgr ctrl.Manager) error {
	for _, kind := range []struct {
		name  string
		setup func(ctrl.Manager) error
	}{
		{"Metal3Cluster", (&Metal3Cluster{Reader: mgr.GetAPIReader()}).SetupWithManager},
		{"Metal3ClusterTemplate", (&Metal3ClusterTemplate{}).SetupWithManager},
		{"Metal3Data", (&Metal3Data{}).SetupWithManager},
		{"Metal3DataClaim", (&Metal3DataClaim{}).SetupWithManager},
		{"Metal3DataTemplate", (&Metal3DataTemplate{}).SetupWithManager},
		{"Metal3Machine", (&Metal3Machine{}).SetupWithManager},
		{"Metal3MachineTemplate", (&Metal3MachineTemplate{}).SetupWithManager},
		{"Metal3Remediation", (&Metal3Remediation{}).SetupWithManager},
		{"Metal3RemediationTemplate", (&Metal3RemediationTemplate{}).SetupWithManager},
	} {
		if err := kind.setup(mgr); err != nil {
			return fmt.Errorf("setting up the webhooks of %s: %w", kind.name, err)
		}
	}
	return nil
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
