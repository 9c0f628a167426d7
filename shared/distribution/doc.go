// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package distribution decides what the failure domains of a cluster are used
// for, from three things: what the user wants (spec.distribution), what the
// provider sees now (observations), and what was known before (the domain
// statuses of the previous evaluation). It is pure: it reads no clock and talks
// to nothing, so all that has to survive a restart is in the status it returns.
//
// # States
//
// Intent and health are judged apart, and the more restrictive wins:
//
//   - a domain the user wants Cordoned or Evicting is that, however healthy;
//   - a domain that is being deleted is Cordoned at least;
//   - a domain that counts as unhealthy is Cordoned, even if the user asks for
//     Active;
//   - a new domain is Pending and Cordoned until it is seen Good for the first
//     time; then it is Active at once;
//   - every other domain is Active.
//
// Health is debounced. A Healthy domain counts as Unhealthy when it has been Bad
// for the grace period, in one piece or, if it is never Good for the hold period in
// between, in several: one that is Good for a moment now and then is cordoned in the
// end. An Unhealthy domain counts as Healthy when it has been Good for the hold
// period, which a Bad answer starts again. Unknown is
// not an answer: the last one stands, no verdict changes, and the time until the
// next answer counts for neither period.
//
// # Too many at once
//
// Domains that are Bad and still count as Healthy have turned. While more than
// half of the domains that the user leaves Active have turned at once, that is
// within one grace period of each other, no further domain counts as Unhealthy
// (Result.TooManyUnhealthy): it is more likely the view that is sick. A domain
// that is Good is judged as ever, so one that was repaired, or is new, becomes
// Active meanwhile. A user who knows better withdraws the domains that are down.
// Domains that were cordoned for their health before are among all domains, but
// not among the turned. Those that the user has withdrawn take no part, because
// switching one off afterwards is no surprise. With few domains this means:
//
//	1 of 1  is more than half: it stays Active
//	1 of 2  is half: it is cordoned after the grace period
//	2 of 2  is more than half: both stay Active
//	1 of 3  is cordoned; 2 of 3 and 3 of 3 stay Active
//
// # The last control-plane domain
//
// A domain is published with controlPlane: true while it is Active and meant for
// control planes. Without any such domain Cluster API would create control-plane
// machines that name no domain at all, so once one has been published, one always
// is: see Result.Kept. That holds whatever takes the last one away: health, intent,
// or that it is removed, by a lost label, a typing error in a selector or a deletion.
// Domains that were published for control planes and are removed stay listed, as
// Cordoned, until another domain may take control planes. Before the first is Active, none is published as such, and
// the provider must not report the cluster's infrastructure as provisioned.
package distribution
