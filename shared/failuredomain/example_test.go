// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"fmt"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// A third rack is added: one machine moves there, from the rack with more machines.
func ExampleBalance() {
	domains := []failuredomain.Domain{{Name: "rack-1"}, {Name: "rack-2"}, {Name: "rack-3"}}
	machines := []failuredomain.Machine{
		{Name: "cp-0", Domain: "rack-1"},
		{Name: "cp-1", Domain: "rack-2"},
		{Name: "cp-2", Domain: "rack-1"},
	}
	plan, err := failuredomain.Balance(domains, machines, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Targets)
	for _, move := range plan.Moves {
		fmt.Printf("%s: %s to %s\n", move.Machine, move.From, move.To)
	}
	// Output:
	// map[rack-1:1 rack-2:1 rack-3:1]
	// cp-0: rack-1 to rack-3
}

// The plan states why it moves nothing.
func ExampleBalance_blocked() {
	domains := []failuredomain.Domain{{Name: "rack-1", State: failuredomain.Evicting}, {Name: "rack-2"}}
	machines := []failuredomain.Machine{
		{Name: "cp-0", Domain: "rack-1"},
		{Name: "cp-1", Domain: "rack-2", Unhealthy: true},
	}
	plan, err := failuredomain.Balance(domains, machines, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(plan.Moves), plan.Blocked)
	// Output: 0 [{MachineUnhealthy unhealthy: cp-1}]
}

// Machines of storage-0 share a rack, and avoid the one of storage-1.
func ExampleBind() {
	racks := []failuredomain.Domain{{Name: "rack-1"}, {Name: "rack-2"}, {Name: "rack-3"}}
	bound := []failuredomain.Binding{
		{Machine: "a", Key: "storage-1", Physical: "rack-1"},
		{Machine: "b", Key: "storage-0", Physical: "rack-3"},
	}
	for _, key := range []string{"storage-0", "storage-2"} {
		rack, err := failuredomain.Bind(racks, bound, key, true)
		fmt.Println(key, rack, err)
	}
	// Output:
	// storage-0 rack-3 <nil>
	// storage-2 rack-2 <nil>
}
