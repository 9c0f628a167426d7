// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/managementcluster"
)

// setDefaults sets the names of groups that will be created and have none. The names are deterministic within this management
// cluster, and differ between management clusters.
func (w vsphereFailureDomain) setDefaults(ctx context.Context, domain *infrav1.VSphereFailureDomain) error {
	hosts := &domain.Spec.Topology.Hosts
	if !ptr.Deref(hosts.AutoConfigure, false) || hosts.VMGroupName != "" && hosts.HostGroupName != "" {
		return nil
	}
	here, err := managementcluster.Of(ctx, w.reader)
	if err != nil {
		return err
	}
	if hosts.VMGroupName == "" {
		hosts.VMGroupName = managementcluster.Name(domain.Name, here, "vms")
	}
	if hosts.HostGroupName == "" {
		hosts.HostGroupName = managementcluster.Name(domain.Name, here, "hosts")
	}
	return nil
}

// configuration returns the fields that select how vCenter is configured, and do not affect where machines are.
func configuration() []string {
	return []string{
		"drift", "region.autoConfigure", "zone.autoConfigure",
		"topology.hosts.autoConfigure", "topology.hosts.hostNames", "topology.hosts.hostTag.name", "topology.hosts.hostTag.category",
	}
}

// validateConfigured rejects moving a zone to another vCenter while items exist that were created for it and must be removed
// later.
func validateConfigured(before, after *infrav1.VSphereDeploymentZone, path *field.Path) field.ErrorList {
	if before.Spec.Server == after.Spec.Server || len(before.Status.Configured) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("server"), fmt.Sprintf(
		"must not change while status.configured lists objects that autoConfigure created in that vCenter (%d); delete the zone and create another", len(before.Status.Configured)))}
}

// validateAutoConfigure validates the fields for what is created in vCenter.
func validateAutoConfigure(spec infrav1.VSphereFailureDomainSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	hosts, at := spec.Topology.Hosts, path.Child("topology", "hosts")
	auto, named, tagged := ptr.Deref(hosts.AutoConfigure, false), len(hosts.HostNames) > 0, hosts.HostTag != infrav1.HostTag{}
	if auto && spec.Zone.Type != infrav1.HostGroupFailureDomain {
		errs = append(errs, field.Forbidden(at.Child("autoConfigure"),
			"may only be set if zone.type is HostGroup; set it to HostGroup, or remove autoConfigure"))
	}
	if named && tagged {
		errs = append(errs, field.Forbidden(at.Child("hostTag"), "must not be set together with hostNames; remove one of the two"))
	}
	if !auto && named {
		errs = append(errs, field.Forbidden(at.Child("hostNames"), "may only be set if autoConfigure is true; set it to true, or remove this field"))
	}
	if !auto && tagged {
		errs = append(errs, field.Forbidden(at.Child("hostTag"), "may only be set if autoConfigure is true; set it to true, or remove this field"))
	}
	own := infrav1.HostTag{Name: spec.Zone.Name, Category: spec.Zone.TagCategory}
	if ptr.Deref(spec.Zone.AutoConfigure, false) && spec.Zone.Type == infrav1.HostGroupFailureDomain && hosts.HostTag == own {
		errs = append(errs, field.Forbidden(path.Child("zone", "autoConfigure"),
			"must not be true if topology.hosts.hostTag is the same tag, because the tag selects the hosts of the group; remove it, or set topology.hosts.hostNames"))
	}
	return errs
}
