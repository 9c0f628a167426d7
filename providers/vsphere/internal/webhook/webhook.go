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
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
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

// Written has the rules of creating objects of every kind, for those who have them as they are written in either version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(infrav1.AddToScheme(scheme), v1beta1.AddToScheme(scheme))
	}, map[string]rules.Creation{
		"VSphereCluster":         rules.Create(conversion.Cluster, validateClusterObject),
		"VSphereClusterIdentity": rules.Create(conversion.ClusterIdentity, validateIdentityObject),
		"VSphereClusterTemplate": rules.Create(conversion.ClusterTemplate, validateClusterTemplate),
		"VSphereDeploymentZone":  rules.Create(conversion.DeploymentZone, validateZoneObject),
		"VSphereFailureDomain":   rules.Create(conversion.FailureDomain, validateDomainObject),
		"VSphereMachine":         rules.Create(conversion.Machine, validateMachineObject),
		"VSphereMachineTemplate": rules.Create(conversion.MachineTemplate, validateTemplateObject),
		"VSphereVM":              rules.Create(conversion.VM, validateVMObject),
	})
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(infrav1.GroupVersion.WithKind(kind), name, errs)
}
