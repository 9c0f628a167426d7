// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failuredomain plans how machines are spread over failure domains. It is pure: its functions depend only on their
// arguments and not on the order of these, do not modify them, and break every tie by name.
//
// # Domains
//
// A domain is Active, Cordoned or Evicting. Entries with the same name are one domain. It is an error if they differ in state or
// capacity, if a domain has no name, or if its state is not one of the three. A negative capacity is that of an overcommitted
// domain and is treated as 0. A machine is in the domain that it names; it is in no domain if it names none, and in an unknown
// domain if that is not listed.
//
// # Targets
//
// Machines in Cordoned domains stay, and are subtracted from the replicas first. The remaining n machines are spread evenly over
// the d Active domains: each gets floor(n/d), and the domains with the most machines get one more if there is a remainder,
// because that takes the fewest moves. Evicting domains get 0. A domain can get at most the machines it holds, including those
// being deleted, plus its capacity; what does not fit goes to the least loaded domains with capacity. So without capacity limits,
// the counts of two Active domains never differ by more than one.
//
// # Moves
//
// A move goes from a domain above its target to one below. The number of moves is minimal, and planning again after all moves
// yields none. Each move is useful by itself: it empties a domain that machines must leave, or levels two Active domains that
// differ by two or more.
//
// No machine is moved while a machine is deleting or unhealthy, or while the number of machines that are not deleting differs
// from the replicas. The plan then has targets and lists what blocks it.
package failuredomain
