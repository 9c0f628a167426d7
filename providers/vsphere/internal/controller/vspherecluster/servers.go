// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/rules"
	"github.com/faultline-io/faultline/shared/watch"
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

// onOtherServers returns a message that names the machines on servers that are not the cluster's, such as a former spec.server, or "".
func (r *Reconciler) onOtherServers(ctx context.Context, cluster *infrav1.VSphereCluster) (string, error) {
	vms := &infrav1.VSphereVMList{}
	if err := r.Client.List(ctx, vms, watch.OfInfrastructure(cluster), client.UnsafeDisableDeepCopy); err != nil { // read-only
		return "", fmt.Errorf("listing VSphereVMs: %w", err)
	}
	servers, elsewhere := cluster.Spec.Servers(), map[string][]string{}
	for i := range vms.Items {
		if vm := &vms.Items[i]; onOtherServer(servers, vm) {
			elsewhere[vm.Spec.Server] = append(elsewhere[vm.Spec.Server], vm.Name)
		}
	}
	if len(elsewhere) == 0 {
		return "", nil
	}
	texts := make([]string, 0, len(elsewhere))
	for _, server := range slices.Sorted(maps.Keys(elsewhere)) {
		texts = append(texts, fmt.Sprintf("%s (%s)", server, rules.Abbreviated(slices.Sorted(slices.Values(elsewhere[server])))))
	}
	return fmt.Sprintf("machines keep their server until they are deleted, and these are on others than %s: %s: replace them to move them, and keep "+
		"these servers and their account until then", strings.Join(servers, ", "), strings.Join(texts, ", ")), nil
}

func onOtherServer(servers []string, vm *infrav1.VSphereVM) bool {
	return vm.Spec.Server != "" && !infrav1.HasServer(servers, vm.Spec.Server)
}
