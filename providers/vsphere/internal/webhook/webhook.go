// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the vSphere kinds when they are
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

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of every kind.
func SetupWithManager(mgr ctrl.Manager) error {
	for _, kind := range []struct {
		name  string
		setup func(ctrl.Manager) error
	}{
		{"VSphereCluster", (&VSphereCluster{}).SetupWithManager},
		{"VSphereClusterIdentity", (&VSphereClusterIdentity{}).SetupWithManager},
		{"VSphereClusterTemplate", (&VSphereClusterTemplate{}).SetupWithManager},
		{"VSphereDeploymentZone", (&VSphereDeploymentZone{Reader: mgr.GetAPIReader()}).SetupWithManager},
		{"VSphereFailureDomain", (&VSphereFailureDomain{Reader: mgr.GetAPIReader()}).SetupWithManager},
		{"VSphereMachine", (&VSphereMachine{}).SetupWithManager},
		{"VSphereMachineTemplate", (&VSphereMachineTemplate{}).SetupWithManager},
		{"VSphereVM", (&VSphereVM{}).SetupWithManager},
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
