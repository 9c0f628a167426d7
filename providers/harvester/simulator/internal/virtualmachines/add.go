// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachines plays what looks after virtual machines and their instances: Harvester, which makes their PVCs, and KubeVirt.
package virtualmachines

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/guests"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/hosts"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/storage"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/timing"
)

// createdByField is that of Pods by which those of an instance are found.
const createdByField = "label." + kubevirtv1.CreatedByLabel

// Add adds the controllers. What runs inside virtual machines is up to the guests.
func Add(ctx context.Context, set *controllers.Set, clock *timing.Clock, delays timing.Delays, inside *guests.Guests) error {
	err := set.Index(ctx, &corev1.Pod{}, createdByField, func(obj client.Object) []string { return []string{obj.GetLabels()[kubevirtv1.CreatedByLabel]} })
	if err != nil {
		return err
	}
	c := set.Client()
	return errors.Join(
		set.Controller("virtualmachine").For(&kubevirtv1.VirtualMachine{}).Owns(&kubevirtv1.VirtualMachineInstance{}).
			WatchesRawSource(set.Wakening(&kubevirtv1.VirtualMachineList{})).
			Complete(&machines{client: c, clock: clock, guests: inside, troubles: set.Troubles(), backoff: delays.FirstBackoff()}),
		set.Controller("virtualmachineinstance").For(&kubevirtv1.VirtualMachineInstance{}).Owns(&corev1.Pod{}).
			Watches(&corev1.PersistentVolumeClaim{}, set.Finding(&kubevirtv1.VirtualMachineInstanceList{}, storage.ClaimField)).
			Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(instancesOfHost(c))).
			WatchesRawSource(set.Wakening(&kubevirtv1.VirtualMachineInstanceList{})).
			Complete(&instances{client: c, clock: clock, delays: delays, troubles: set.Troubles(), guests: inside}),
	)
}

// instancesOfHost are those that have a Pod there.
func instancesOfHost(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, host client.Object) []reconcile.Request {
		there := &corev1.PodList{}
		if err := c.List(ctx, there, client.MatchingFields{hosts.PodField: host.GetName()}); err != nil {
			return controllers.Requests(ctx, there, err)
		}
		var requests []reconcile.Request
		for i := range there.Items {
			if owner := metav1.GetControllerOf(&there.Items[i]); owner != nil {
				requests = append(requests, reconcile.Request{
					NamespacedName: client.ObjectKey{Namespace: there.Items[i].Namespace, Name: owner.Name},
				})
			}
		}
		return requests
	}
}
