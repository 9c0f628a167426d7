// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// vsphereDeploymentZone validates VSphereDeploymentZones against other objects. Its reader should be uncached, so that a
// machine created a moment ago counts.
type vsphereDeploymentZone struct{ reader client.Reader }

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspheredeploymentzone,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones,verbs=create;update,versions=v1beta2,name=validation.vspheredeploymentzone.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspheredeploymentzone,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones,verbs=create;update,versions=v1beta2,name=default.vspheredeploymentzone.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// defaultZone allows control-plane machines in a zone that does not set controlPlane.
func defaultZone(_ context.Context, zone *infrav1.VSphereDeploymentZone) error {
	if zone.Spec.ControlPlane == nil {
		zone.Spec.ControlPlane = ptr.To(true)
	}
	return nil
}

func (w vsphereDeploymentZone) create(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (admission.Warnings, field.ErrorList, error) {
	warnings, err := w.warn(ctx, zone)
	return warnings, nil, err
}

// update rejects changes that would move a zone with machines.
func (w vsphereDeploymentZone) update(ctx context.Context, before, after *infrav1.VSphereDeploymentZone) (admission.Warnings, field.ErrorList, error) {
	errs := validateConfigured(before, after, field.NewPath("spec"))
	if len(movedZone(before, after, "")) > 0 {
		machines, err := machinesIn(ctx, w.reader, after.Name)
		if err != nil {
			return nil, nil, err
		}
		if len(machines) > 0 {
			errs = append(errs, movedZone(before, after, fmt.Sprintf("%s in the zone; %s", rules.InUseBy("Machine", machines), inUseAdvice))...)
		}
	}
	if len(errs) > 0 || before.Spec.FailureDomain == after.Spec.FailureDomain && before.Spec.Server == after.Spec.Server {
		return nil, errs, nil
	}
	warnings, err := w.warn(ctx, after)
	return warnings, errs, err
}

// movedZone returns an error for each change that moves a zone.
func movedZone(before, after *infrav1.VSphereDeploymentZone, advice string) field.ErrorList {
	return rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"), advice, "controlPlane", "thumbprint", "identityRef.kind", "identityRef.name")
}

// warn warns about what a zone lacks to become ready. A rejected zone has no warnings.
func (w vsphereDeploymentZone) warn(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (admission.Warnings, error) {
	if len(validateZoneObject(zone)) > 0 {
		return nil, nil
	}
	var warnings admission.Warnings
	spec, path := zone.Spec, field.NewPath("spec")
	if spec.Server == "" {
		warnings = append(warnings, rules.Warning(path.Child("server"),
			"is not set, so no cluster uses the zone; set it to the server of the VSphereClusters"))
	}
	err := w.reader.Get(ctx, client.ObjectKey{Name: spec.FailureDomain}, &infrav1.VSphereFailureDomain{})
	switch {
	case apierrors.IsNotFound(err):
		warnings = append(warnings, rules.Warning(path.Child("failureDomain"),
			"VSphereFailureDomain %q does not exist yet; the zone is not ready until it does", spec.FailureDomain))
	case err != nil:
		return nil, fmt.Errorf("reading VSphereFailureDomain %s: %w", spec.FailureDomain, err)
	}
	return warnings, nil
}

func validateZoneObject(zone *infrav1.VSphereDeploymentZone) field.ErrorList {
	return validateZone(zone.Spec, field.NewPath("spec"))
}

// validateZone validates a zone.
func validateZone(spec infrav1.VSphereDeploymentZoneSpec, path *field.Path) field.ErrorList {
	errs := validateServer(spec.Server, path.Child("server"))
	errs = append(errs, validateThumbprint(spec.Thumbprint, path.Child("thumbprint"))...)
	if ref := spec.IdentityRef; ref != nil && (ref.Kind != infrav1.VSphereClusterIdentityKind || ref.Name == "") {
		errs = append(errs, field.Invalid(path.Child("identityRef"), *ref,
			"must be a VSphereClusterIdentity, because a zone is cluster-scoped and cannot use a Secret of a namespace"))
	}
	return errs
}
