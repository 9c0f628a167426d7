// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spread gives each machine of a MachineDeployment that names no failure domain one of its own, and keeps the machines of a
// MachineDeployment spread while they come and go.
//
// # Who is spread
//
// Machines of MachineDeployments, each MachineDeployment for itself. What a domain has room for is shared by all machines of the
// cluster: a machine that has been assigned a domain and does not exist yet takes some of it. Machines of MachinePools, and Machines
// that nobody makes anew, are left alone.
//
// # Rollouts
//
// A new machine goes where the fewest machines of its own MachineSet are, and among equal places where the fewest of its MachineDeployment are:
// in which order the old ones are deleted is not known, and they all go. Where outdated machines may stay for good, as the user deletes them
// (OnDelete), all count alike.
//
// # Logical domains
//
// With spec.distribution.workers.desiredFailureDomains N the machines of a class are spread over the keys <class>-0 to <class>-(N-1),
// however many failure domains there are. A machine keeps the key it was given first, for good. Its failure domain is one that holds
// no other key of its class, if there is one: else it waits, where that is required, or shares one. A machine that has a domain and
// no key, because it is older than the keys, is given one that fits where it is.
//
// # What is written
//
// The domain as an annotation and the key as a label of the infrastructure machine, in one request that goes with its resource
// version and before anything of it exists outside; providers wait for it, see provider.Asked. Both are taken back only as long as
// nothing exists, and only when the domain can take the machine no more and another one can.
package spread
