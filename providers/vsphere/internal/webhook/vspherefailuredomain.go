// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// vsphereFailureDomain validates VSphereFailureDomains against other objects. Its reader should be uncached, so that a machine
// created a moment ago counts.
type vsphereFailureDomain struct{ reader client.Reader }

// +kubebuilder:webhook:path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-vspherefailuredomain,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherefailuredomains,verbs=create;update;delete,versions=v1beta2,name=validation.vspherefailuredomain.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-vspherefailuredomain,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=vspherefailuredomains,verbs=create;update,versions=v1beta2,name=default.vspherefailuredomain.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// update rejects changes to a failure domain with machines, except to how vCenter is configured.
func (w vsphereFailureDomain) update(ctx context.Context, before, after *infrav1.VSphereFailureDomain) (admission.Warnings, field.ErrorList, error) {
	path := field.NewPath("spec")
	if len(rules.Changed(&before.Spec, &after.Spec, path, "")) == 0 {
		return nil, nil, nil
	}
	_, machines, err := w.inUse(ctx, after)
	if err != nil || len(machines) == 0 {
		return nil, nil, err
	}
	return nil, rules.Changed(&before.Spec, &after.Spec, path, fmt.Sprintf(
		"%s in the failure domain; %s", rules.InUseBy("Machine", machines), inUseAdvice), configuration()...), nil
}

// delete rejects deleting a failure domain with machines.
func (w vsphereFailureDomain) delete(ctx context.Context, domain *infrav1.VSphereFailureDomain) (admission.Warnings, field.ErrorList, error) {
	zones, machines, err := w.inUse(ctx, domain)
	if err != nil || len(machines) == 0 {
		return nil, nil, err
	}
	return nil, field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"%s in the failure domain; delete its VSphereDeploymentZones %s instead: it is deleted with the last of them, once it has no machines",
		rules.InUseBy("Machine", machines), rules.Abbreviated(zones)))}, nil
}

// inUse returns the zones of a failure domain and the machines in them.
func (w vsphereFailureDomain) inUse(ctx context.Context, domain *infrav1.VSphereFailureDomain) (zones, machines []string, err error) {
	if zones, err = zonesOf(ctx, w.reader, domain.Name); err != nil {
		return nil, nil, err
	}
	machines, err = machinesIn(ctx, w.reader, zones...)
	return zones, machines, err
}

func validateDomainObject(domain *infrav1.VSphereFailureDomain) field.ErrorList {
	return validateFailureDomain(domain.Spec, field.NewPath("spec"))
}

// validateFailureDomain validates a failure domain.
func validateFailureDomain(spec infrav1.VSphereFailureDomainSpec, path *field.Path) field.ErrorList {
	errs := validateHierarchy(spec, path)
	errs = append(errs, validateTopology(spec, path.Child("topology"))...)
	errs = append(errs, validateAutoConfigure(spec, path)...)
	return append(errs, validateConfigurations(spec.Topology, path.Child("topology"))...)
}

// rank orders the types from the largest to the smallest unit.
func rank(unit infrav1.FailureDomainType) int {
	switch unit {
	case infrav1.DatacenterFailureDomain:
		return 0
	case infrav1.ComputeClusterFailureDomain:
		return 1
	default:
		return 2
	}
}

func validateHierarchy(spec infrav1.VSphereFailureDomainSpec, path *field.Path) field.ErrorList {
	if spec.Region.Type == infrav1.HostGroupFailureDomain {
		return field.ErrorList{field.Invalid(path.Child("region", "type"), spec.Region.Type,
			"must be Datacenter or ComputeCluster, because a region must be larger than a host group")}
	}
	if rank(spec.Zone.Type) < rank(spec.Region.Type) {
		return field.ErrorList{field.Invalid(path.Child("zone", "type"), spec.Zone.Type, fmt.Sprintf(
			"must not be larger than the region: a %s is larger than a %s; swap the two", spec.Zone.Type, spec.Region.Type))}
	}
	return nil
}

// validateTopology requires names for the objects that region and zone refer to.
func validateTopology(spec infrav1.VSphereFailureDomainSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	topology := spec.Topology
	if strings.TrimSpace(topology.Datacenter) == "" {
		errs = append(errs, field.Required(path.Child("datacenter"), "must be the datacenter of the failure domain"))
	}
	if topology.ComputeCluster == "" {
		for _, unit := range []struct {
			name string
			is   bool
		}{
			{"region.type is ComputeCluster", spec.Region.Type == infrav1.ComputeClusterFailureDomain},
			{"zone.type is ComputeCluster", spec.Zone.Type == infrav1.ComputeClusterFailureDomain},
			{"hosts is set", topology.Hosts.IsDefined()},
		} {
			if unit.is {
				errs = append(errs, field.Required(path.Child("computeCluster"), "must be set if "+unit.name))
			}
		}
	}
	if spec.Zone.Type == infrav1.HostGroupFailureDomain && !topology.Hosts.IsDefined() {
		errs = append(errs, field.Required(path.Child("hosts"),
			"must have the host group and its VM group if zone.type is HostGroup"))
	}
	return errs
}

// validateConfigurations validates the networks.
func validateConfigurations(topology infrav1.Topology, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(topology.Networks) > 0 && len(topology.NetworkConfigurations) > 0 {
		errs = append(errs, field.Forbidden(path.Child("networks"),
			"must not be set together with networkConfigurations; remove one of the two"))
	}
	for i, configuration := range topology.NetworkConfigurations {
		at := path.Child("networkConfigurations").Index(i)
		errs = append(errs, validatePools(configuration.AddressesFromPools, at.Child("addressesFromPools"))...)
		errs = append(errs, validateAddresses(configuration.Nameservers, at.Child("nameservers"))...)
		errs = append(errs, validateOverrides(configuration.DHCP4Overrides, at.Child("dhcp4Overrides"))...)
		errs = append(errs, validateOverrides(configuration.DHCP6Overrides, at.Child("dhcp6Overrides"))...)
	}
	return errs
}
