// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failuredomain plans how machines are spread over failure domains. It
// is pure: its functions depend on nothing but their arguments and not on the
// order of these, do not modify them, and break every tie by name.
//
// # Domains
//
// A domain is Active, Cordoned or Evicting. Entries of one name are one domain;
// it is an error if they disagree on state or capacity, if a domain has no name,
// or if its state is not one of the three. A negative capacity is that of an
// overcommitted domain and means the same as 0: no room. A machine is in the
// domain it names; it is nowhere if it names none, and in an unknown domain if
// that is not listed.
//
// # Targets
//
// Machines in Cordoned domains stay, and are taken off the replicas first. What
// is left, n over d Active domains, is spread evenly: some domains get
// floor(n/d), and where that leaves a rest the fullest get one more, because that
// takes the fewest moves. Evicting domains get 0. A domain can get no more than
// it holds plus its capacity, machines on their way out included; what does not
// fit goes to the least loaded domains with room. So without limits of capacity
// the counts of two Active domains never differ by more than one.
//
// # Moves
//
// A move goes from a domain above its target to one below. There are as few as
// there can be, and planning again after carrying them out yields none. Each is
// worth carrying out by itself: it empties a place that machines must leave, or
// levels two Active domains that differ by two or more.
//
// Nothing moves while a machine is deleting or unhealthy, or while the number of
// machines that are not deleting differs from the replicas: the plan then has
// targets and says what blocks it.
package failuredomain
