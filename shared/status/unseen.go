// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// Machine is an object that stands for a machine.
type Machine interface {
	Object
	// InService reports whether the machine was provisioned and is not being deleted.
	InService() bool
}

// Unseen sets the condition that says why what runs the machine cannot be asked, unless the machine is in service. An outage takes nothing
// from a machine in service but the view: it runs on as far as anybody knows, and stays what it was last seen to be. Otherwise Cluster API
// would count all machines as unavailable, and to write the condition to thousands of them would keep the API server busy for longer than
// most outages last. The machine's cluster shows the outage.
func Unseen(machine Machine, why metav1.Condition) {
	if !machine.InService() {
		conditions.Set(machine, why)
	}
}
