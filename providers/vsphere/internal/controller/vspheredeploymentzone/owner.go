// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspherefailuredomains,verbs=get;list;watch;patch;delete

// zoneKind is the kind of a zone in owner references.
const zoneKind = "VSphereDeploymentZone"

// owner returns the owner reference to a zone.
func owner(zone *infrav1.VSphereDeploymentZone) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: zoneKind, Name: zone.Name, UID: zone.UID}
}

// own makes the zone an owner of its failure domain, which is deleted with its last owner, as in upstream. It restores a
// reference that was removed, or that has another version or UID.
func (r *Reconciler) own(ctx context.Context, zone *infrav1.VSphereDeploymentZone, domain *infrav1.VSphereFailureDomain) error {
	if !domain.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.setOwners(ctx, domain, util.EnsureOwnerRef(slices.Clone(domain.OwnerReferences), owner(zone)))
}

// disown removes a zone in deletion from the owners of failure domains. It deletes failure domains that then have no owner and
// are named by no other zone.
func (r *Reconciler) disown(ctx context.Context, zone *infrav1.VSphereDeploymentZone) error {
	domains := &infrav1.VSphereFailureDomainList{}
	if err := r.Client.List(ctx, domains); err != nil {
		return fmt.Errorf("listing VSphereFailureDomains: %w", err)
	}
	zones := &infrav1.VSphereDeploymentZoneList{}
	if err := r.Client.List(ctx, zones); err != nil {
		return fmt.Errorf("listing VSphereDeploymentZones: %w", err)
	}
	for i := range domains.Items {
		domain := &domains.Items[i]
		if !util.HasOwnerRef(domain.OwnerReferences, owner(zone)) && domain.Name != zone.Spec.FailureDomain {
			continue
		}
		if err := r.setOwners(ctx, domain, util.RemoveOwnerRef(slices.Clone(domain.OwnerReferences), owner(zone))); err != nil {
			return err
		}
		named := slices.ContainsFunc(zones.Items, func(other infrav1.VSphereDeploymentZone) bool {
			return other.UID != zone.UID && other.Spec.FailureDomain == domain.Name
		})
		if len(domain.OwnerReferences) > 0 || named || !domain.DeletionTimestamp.IsZero() {
			continue
		}
		unchanged := client.Preconditions{UID: &domain.UID, ResourceVersion: &domain.ResourceVersion}
		if err := r.Client.Delete(ctx, domain, unchanged); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting VSphereFailureDomain %s with its last zone: %w", domain.Name, err)
		}
	}
	return nil
}

func (r *Reconciler) setOwners(ctx context.Context, domain *infrav1.VSphereFailureDomain, owners []metav1.OwnerReference) error {
	if equality.Semantic.DeepEqual(domain.OwnerReferences, owners) {
		return nil
	}
	before := domain.DeepCopy()
	domain.OwnerReferences = owners
	if err := r.domains.Write(ctx, r.Client, before, domain); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("updating the owners of VSphereFailureDomain %s: %w", domain.Name, err)
	}
	return nil
}

// domainChanged passes changes of a failure domain's spec or owners.
func domainChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
	}})
}
