// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the vSphere kinds when they are
// written, and has them converted between their versions.
//
// A rule is a function from a spec, and its path, to the errors in it. Each
// error names the field and the way out. On update only errors that the object
// did not have before count, so that an object which was let in once can always
// be updated and deleted. What the CRDs check is not checked again.
package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of every kind. The manager's scheme
// has both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	return rules.Setup(mgr,
		rules.Kind{Name: "VSphereCluster", Webhooks: &VSphereCluster{}},
		rules.Kind{Name: "VSphereClusterIdentity", Webhooks: &VSphereClusterIdentity{}},
		rules.Kind{Name: "VSphereClusterTemplate", Webhooks: &VSphereClusterTemplate{}},
		rules.Kind{Name: "VSphereDeploymentZone", Webhooks: &VSphereDeploymentZone{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "VSphereFailureDomain", Webhooks: &VSphereFailureDomain{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "VSphereMachine", Webhooks: &VSphereMachine{}},
		rules.Kind{Name: "VSphereMachineTemplate", Webhooks: &VSphereMachineTemplate{}},
		rules.Kind{Name: "VSphereVM", Webhooks: &VSphereVM{}},
	)
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
