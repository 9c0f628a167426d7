// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// Machine is an infrastructure machine.
type Machine interface {
	Object
	// InService reports whether the machine was provisioned and is not being deleted.
	InService() bool
}

// MarkUnknown sets a condition that reports why the infrastructure that runs the machine cannot be reached, unless the machine is in
// service. An outage of the infrastructure's API does not affect a machine in service: it probably still runs and keeps its last
// observed state. Otherwise Cluster API would count all machines as unavailable, and writing the condition to thousands of
// machines would load the API server for longer than most outages last. The machine's cluster reports the outage.
func MarkUnknown(machine Machine, why metav1.Condition) {
	if !machine.InService() {
		conditions.Set(machine, why)
	}
}
