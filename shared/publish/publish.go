// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes the results of package distribution to where Cluster API and users read them: the status of the
// infrastructure cluster, events and metrics.
package publish

import (
	"sync"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/faultline-io/faultline/shared/distribution"
)

// Publisher evaluates the failure domains of clusters and publishes them. One Publisher serves all clusters of a provider; see
// Of.
type Publisher struct {
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *distribution.Metrics

	known sync.Map // key of the infrastructure cluster -> key of its Cluster, which labels the metrics
}

// Forget deletes the metrics of an infrastructure cluster, whichever controller has set them. Call it when the cluster no longer exists.
// It keeps those of a Cluster that another infrastructure cluster also claims as its owner.
func (p *Publisher) Forget(object client.ObjectKey) {
	if cluster, known := p.known.LoadAndDelete(object); known {
		p.deleteMetrics(object, cluster.(client.ObjectKey))
	}
}

func (p *Publisher) deleteMetrics(object, cluster client.ObjectKey) {
	shared := false
	p.known.Range(func(other, of any) bool {
		shared = other != object && of == cluster
		return !shared
	})
	if !shared {
		p.Metrics.Forget(cluster)
	}
}

// domainOf returns the failure domain in which the machine runs, or the requested one while that is unknown.
func domainOf(machine *clusterv1.Machine) string {
	if machine.Status.FailureDomain != "" {
		return machine.Status.FailureDomain
	}
	return machine.Spec.FailureDomain
}

// MachineMoved returns a predicate that passes Machines whose change affects the number of machines in a failure domain.
func MachineMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return domainOf(e.ObjectOld.(*clusterv1.Machine)) != domainOf(e.ObjectNew.(*clusterv1.Machine))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// WaitChanged returns a predicate that passes infrastructure machines that start or stop waiting for placement, and deleted ones.
// why is the function given to Publish.
func WaitChanged[T client.Object](why func(T) string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return why(e.ObjectOld.(T)) != why(e.ObjectNew.(T)) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
