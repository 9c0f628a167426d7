// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
)

// observeDomain records the failure domain that the machine is in: the requested one, or another that its cluster selects. If
// the machine is not in the requested one, it sets a condition and records an event: a rule that is not mandatory was
// overridden, or an administrator moved the machine.
func (r *Reconciler) observeDomain(ctx context.Context, s *scope) error {
	requested := s.vm.Spec.Placement.FailureDomain
	if requested == "" {
		s.vm.Status.FailureDomain = nil
		return nil
	}
	zones, err := placement.Zones(ctx, r.Client)
	if err != nil {
		return fmt.Errorf("locating virtual machine %s: %w", s.vm.Name, err)
	}
	zones = slices.DeleteFunc(zones, func(zone placement.Zone) bool {
		return zone.Name != requested && !placement.Selects(s.cluster, &zone.VSphereDeploymentZone)
	})
	location := s.session.Locate(s.observed)
	observed := placement.Observe(location, s.vm.Spec.Server, zones, requested)
	s.vm.Status.FailureDomain = nil
	if observed != "" {
		s.vm.Status.FailureDomain = &observed
	}
	known := slices.ContainsFunc(zones, func(zone placement.Zone) bool { return zone.Name == requested && zone.Domain != nil })
	switch {
	case !known: // a zone that does not exist cannot be left
		conditions.Delete(s.vm, infrav1.VSphereVMInFailureDomainCondition)
	case observed == requested:
		status.True(s.vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMInFailureDomainReason)
	default:
		r.reportOutside(s, location, observed)
	}
	return nil
}

// reportOutside reports that the machine runs outside of its failure domain.
func (r *Reconciler) reportOutside(s *scope, at vcenter.Location, observed string) {
	requested := s.vm.Spec.Placement
	location := fmt.Sprintf("runs on host %s of %s, outside failure domain %s", at.Host, at.ComputeCluster, requested.FailureDomain)
	if requested.HostGroupName != "" && !slices.Contains(at.HostGroups, requested.HostGroupName) {
		location += fmt.Sprintf(", whose host group is %s", requested.HostGroupName)
	}
	if observed != "" {
		location += ", in failure domain " + observed
	}
	message := fmt.Sprintf("Virtual machine %s: migrate it back, or delete the Machine to replace it", location)
	if conditions.GetMessage(s.vm, infrav1.VSphereVMInFailureDomainCondition) != message {
		r.warn(s, infrav1.VSphereVMOutsideFailureDomainReason, "Observe", "%s", message)
	}
	status.False(s.vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMOutsideFailureDomainReason, message)
}
