// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes what package distribution decides to where Cluster API and people look: the status of the
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

// Publisher evaluates the failure domains of clusters and reports them: see Of.
type Publisher struct {
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *distribution.Metrics

	known sync.Map // key of the infrastructure cluster -> key of its Cluster, under which metrics are
}

// Forget ends the metrics of an infrastructure cluster, which has gone.
func (p *Publisher) Forget(object client.ObjectKey) {
	if cluster, known := p.known.LoadAndDelete(object); known {
		p.Metrics.Forget(cluster.(client.ObjectKey))
	}
}

// domainOf is where the machine is, or was asked to be as long as that is not known.
func domainOf(machine *clusterv1.Machine) string {
	if machine.Status.FailureDomain != "" {
		return machine.Status.FailureDomain
	}
	return machine.Spec.FailureDomain
}

// MachineMoved passes Machines that change the number of machines in a failure domain.
func MachineMoved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return domainOf(e.ObjectOld.(*clusterv1.Machine)) != domainOf(e.ObjectNew.(*clusterv1.Machine))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// WaitChanged passes infrastructure machines that begin or cease to wait for a place, or that have gone. why is that of Publish.
func WaitChanged[T client.Object](why func(T) string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return why(e.ObjectOld.(T)) != why(e.ObjectNew.(T)) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
