// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spread assigns a failure domain to each machine of a MachineDeployment that names none, and keeps the machines of a
// MachineDeployment spread while they are scaled.
//
// # Scope
//
// The machines of each MachineDeployment are spread separately. The capacity of a domain is shared by all machines of the
// cluster: a machine that has been assigned a domain and does not exist yet uses some of it. Machines of MachinePools, and
// standalone Machines that no controller replaces, are not changed.
//
// # Rollouts
//
// A new machine goes to the domain with the fewest machines of its own MachineSet, and among equal ones to the domain with the
// fewest of its MachineDeployment. The order in which the old machines are deleted is unknown, and all of them are. If outdated
// machines may stay for good, because the user deletes them (OnDelete), all machines count alike.
//
// # Logical domains
//
// With spec.distribution.workers.desiredFailureDomains N the machines of a class are spread over the keys <class>-0 to
// <class>-(N-1), independent of the number of failure domains. A machine keeps its first key forever. It is placed in a failure
// domain that holds no other key of its class. If no such domain exists, the machine waits if required is set, and otherwise shares one.
// A machine with a domain and no key, because it is older than the keys, is assigned a key that fits its domain.
//
// # Writes
//
// The domain is written as an annotation and the key as a label of the infrastructure machine, in one request with its
// resourceVersion, before anything of the machine is created in the infrastructure. Providers wait for it; see provider.RequestedDomain.
// The domain is only reassigned as long as nothing exists, and only if it can no longer take the machine and another one can.
package spread
