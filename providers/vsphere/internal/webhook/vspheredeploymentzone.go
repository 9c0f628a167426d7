// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/conversion"
	"github.com/faultline-io/faultline/shared/rules"
)

// VSphereDeploymentZone defaults and validates VSphereDeploymentZones. Its
// Reader should be uncached: a machine that was made a moment ago counts.
type VSphereDeploymentZone struct {
	rules.Deletable[*infrav1.VSphereDeploymentZone]

	Reader client.Reader
}

var (
	_ admission.Validator[*infrav1.VSphereDeploymentZone] = &VSphereDeploymentZone{}
	_ admission.Defaulter[*infrav1.VSphereDeploymentZone] = &VSphereDeploymentZone{}
)

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspheredeploymentzone,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones,verbs=create;update,versions=v1beta2,name=validation.vspheredeploymentzone.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspheredeploymentzone,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspheredeploymentzones,verbs=create;update,versions=v1beta2,name=default.vspheredeploymentzone.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager registers the webhooks, and what converts the kind.
func (w *VSphereDeploymentZone) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.VSphereDeploymentZone{}).WithDefaulter(w).WithValidator(w).WithConverter(conversion.DeploymentZone).Complete()
}

// Default lets control-plane machines into a zone that does not say.
func (w *VSphereDeploymentZone) Default(_ context.Context, zone *infrav1.VSphereDeploymentZone) error {
	if zone.Spec.ControlPlane == nil {
		zone.Spec.ControlPlane = ptr.To(true)
	}
	return nil
}

// ValidateCreate refuses zones that could not be used.
func (w *VSphereDeploymentZone) ValidateCreate(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (admission.Warnings, error) {
	if err := refuse("VSphereDeploymentZone", zone.Name, validateZoneObject(zone)); err != nil {
		return nil, err
	}
	return w.warn(ctx, zone.Spec, field.NewPath("spec"))
}

// ValidateUpdate refuses changes that ValidateCreate would, and those that
// would put a zone that has machines in another place than they are.
func (w *VSphereDeploymentZone) ValidateUpdate(ctx context.Context, before, after *infrav1.VSphereDeploymentZone) (admission.Warnings, error) {
	path := field.NewPath("spec")
	errs := rules.Added(validateZoneObject(before), validateZoneObject(after))
	errs = append(errs, validateConfigured(before, after, path)...)
	if len(movedZone(before, after, "")) > 0 {
		machines, err := machinesIn(ctx, w.Reader, after.Name)
		if err != nil {
			return nil, err
		}
		if len(machines) > 0 {
			errs = append(errs, movedZone(before, after, fmt.Sprintf("%s in the zone; %s", rules.InUseBy("Machine", machines), wayOutOfUse))...)
		}
	}
	if err := refuse("VSphereDeploymentZone", after.Name, errs); err != nil {
		return nil, err
	}
	if before.Spec.FailureDomain == after.Spec.FailureDomain && before.Spec.Server == after.Spec.Server {
		return nil, nil
	}
	return w.warn(ctx, after.Spec, path)
}

// movedZone has an error for each change that moves a zone.
func movedZone(before, after *infrav1.VSphereDeploymentZone, wayOut string) field.ErrorList {
	return rules.Changed(&before.Spec, &after.Spec, field.NewPath("spec"), wayOut, "controlPlane", "thumbprint", "identityRef")
}

// warn has what a zone lacks to become ready.
func (w *VSphereDeploymentZone) warn(ctx context.Context, spec infrav1.VSphereDeploymentZoneSpec, path *field.Path) (admission.Warnings, error) {
	var warnings admission.Warnings
	if spec.Server == "" {
		warnings = append(warnings, rules.Warning(path.Child("server"),
			"is not set, so no cluster uses the zone; set it to the server of the VSphereClusters that should"))
	}
	err := w.Reader.Get(ctx, client.ObjectKey{Name: spec.FailureDomain}, &infrav1.VSphereFailureDomain{})
	switch {
	case apierrors.IsNotFound(err):
		warnings = append(warnings, rules.Warning(path.Child("failureDomain"),
			"there is no VSphereFailureDomain %q yet; the zone is not ready until there is", spec.FailureDomain))
	case err != nil:
		return nil, fmt.Errorf("reading VSphereFailureDomain %s: %w", spec.FailureDomain, err)
	}
	return warnings, nil
}

func validateZoneObject(zone *infrav1.VSphereDeploymentZone) field.ErrorList {
	return validateZone(zone.Spec, field.NewPath("spec"))
}

// validateZone has the rules of a zone.
func validateZone(spec infrav1.VSphereDeploymentZoneSpec, path *field.Path) field.ErrorList {
	errs := validateServer(spec.Server, path.Child("server"))
	errs = append(errs, validateThumbprint(spec.Thumbprint, path.Child("thumbprint"))...)
	if ref := spec.IdentityRef; ref != nil && (ref.Kind != infrav1.VSphereClusterIdentityKind || ref.Name == "") {
		errs = append(errs, field.Invalid(path.Child("identityRef"), *ref,
			"name a VSphereClusterIdentity: a zone is in no namespace, so it cannot use a Secret of one"))
	}
	return errs
}
