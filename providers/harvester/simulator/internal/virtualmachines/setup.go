// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualmachines simulates the components that manage virtual machines and their instances: Harvester, which creates
// their PVCs, and KubeVirt. It also creates their Pods, simulates their guests (cloud-init, DHCP clients and the guest agent),
// live migrates virtual machines and drains hosts, and serves the webhooks of Harvester and KubeVirt that mutate and validate
// virtual machines.
package virtualmachines

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// createdByField indexes Pods by their instance.
const createdByField = "label." + kubevirtv1.CreatedByLabel

// Index indexes the Pods of instances.
func Index(ctx context.Context, set *controllers.Set) error {
	return set.IndexField(ctx, &corev1.Pod{}, createdByField, func(obj client.Object) []string { return []string{obj.GetLabels()[kubevirtv1.CreatedByLabel]} })
}

// Add adds the controllers. guests simulates the guests.
func Add(set *controllers.Set, clock *controllers.Clock, delays controllers.Delays, guests *Guests) error {
	c := set.Client()
	return errors.Join(
		machineController(set).Complete(&machines{
			harvester: harvester{client: c, guests: guests, faults: set.Faults()}, clock: clock, backoff: delays.FirstBackoff(),
		}),
		instanceController(set).Watches(&corev1.PersistentVolumeClaim{}, set.EnqueueByField(&kubevirtv1.VirtualMachineInstanceList{}, cluster.ClaimField)).
			Complete(&instances{client: c, clock: clock, delays: delays, faults: set.Faults(), guests: guests}),
	)
}

// AddForKubeVirt adds the controllers that complement the real virt-controller: Harvester's, and that of virt-handler, which writes
// with the permissions of virt-handler.
func AddForKubeVirt(set *controllers.Set, clock *controllers.Clock, delays controllers.Delays, guests *Guests, as client.Client) error {
	c := set.Client()
	return errors.Join(
		machineController(set).Complete(&harvester{client: c, guests: guests, faults: set.Faults()}),
		instanceController(set).Complete(&handlers{
			instances: instances{client: c, clock: clock, delays: delays, faults: set.Faults(), guests: guests}, as: as,
		}),
		set.Controller("heartbeat").For(&corev1.Node{}).Complete(&heartbeats{client: c}),
	)
}

func machineController(set *controllers.Set) *builder.Builder {
	return set.Controller("virtualmachine").For(&kubevirtv1.VirtualMachine{}).Owns(&kubevirtv1.VirtualMachineInstance{}).
		WatchesRawSource(set.EnqueueOnFaultChange(&kubevirtv1.VirtualMachineList{}))
}

func instanceController(set *controllers.Set) *builder.Builder {
	return set.Controller("virtualmachineinstance").For(&kubevirtv1.VirtualMachineInstance{}).Owns(&corev1.Pod{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(instancesOfHost(set.Client()))).
		WatchesRawSource(set.EnqueueOnFaultChange(&kubevirtv1.VirtualMachineInstanceList{}))
}

// instancesOfHost returns the instances that have a Pod on the host.
func instancesOfHost(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, host client.Object) []reconcile.Request {
		there := &corev1.PodList{}
		if err := c.List(ctx, there, client.MatchingFields{cluster.PodField: host.GetName()}); err != nil {
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
