// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// reportServers writes the state of each vCenter of a cluster with several into the status. It returns when to look again without
// an event, or 0.
func (r *Reconciler) reportServers(ctx context.Context, s *scope) (again time.Duration, _ error) {
	before := s.cluster.Status.Servers
	if len(s.cluster.Spec.AdditionalServers) == 0 {
		s.cluster.Status.Servers = nil
		return 0, nil
	}
	zones, err := placement.Zones(ctx, r.Client)
	if err != nil {
		return 0, err
	}
	servers, err := r.VCenters.Servers(ctx, s.cluster, placement.Selected(s.cluster, zones))
	if err != nil {
		return 0, err
	}
	reported := make([]infrav1.VSphereClusterServerStatus, len(servers))
	for i, server := range servers {
		reported[i] = infrav1.VSphereClusterServerStatus{Server: server.Server, InstanceUUID: server.InstanceUUID}
		for j := range before {
			if before[j].Server == server.Server {
				reported[i].Conditions = before[j].DeepCopy().Conditions
			}
		}
		meta.SetStatusCondition(&reported[i].Conditions, server.Available)
		again = reconcile.Earlier(again, server.RetryAfter)
	}
	s.cluster.Status.Servers = reported
	return again, nil
}
