// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package distribution decides how the failure domains of a cluster are used. It has three inputs: the user's intent
// (spec.distribution), the current observations of the provider, and the domain statuses of the previous evaluation. It is pure:
// it reads no clock and makes no calls, so all state that must survive a restart is in the status it returns.
//
// # States
//
// Intent and health are evaluated separately, and the more restrictive one wins:
//
//   - a domain that the user wants Cordoned or Evicting has that state, however healthy it is;
//   - a domain that is being deleted is at least Cordoned;
//   - a domain that counts as unhealthy is Cordoned, even if the user requests Active;
//   - a new domain is Pending and Cordoned until it is observed Healthy for the first time; then it becomes Active immediately;
//   - every other domain is Active.
//
// Health is debounced. A domain counts as unhealthy once it has been observed Unhealthy for the grace period. The Unhealthy periods
// are added up unless the domain is Healthy for the hold period in between, so a domain that is only Healthy for a moment now and
// then is cordoned in the end. It counts as healthy again once it has been observed Healthy for the hold period without
// interruption; an Unhealthy observation restarts that period. Unknown is not an observation: the last one remains, health does not
// change, and the time until the next observation counts for neither period.
//
// # Too many at once
//
// Domains that are observed Unhealthy and still count as healthy have turned. While more than half of the domains that the user
// leaves Active have turned within one grace period of each other, no further domain counts as unhealthy
// (Result.TooManyUnhealthy), because the observation is more likely at fault than the domains. A domain that is observed Healthy
// is evaluated as usual, so a repaired or new domain becomes Active meanwhile. If the domains really are down, the user cordons
// them. Domains that were already cordoned for their health count among all domains, but not among the turned ones. Domains that
// the user has withdrawn do not count at all, because switching one off afterwards is expected. With few domains this means:
//
//	1 of 1  is more than half: it stays Active
//	1 of 2  is half: it is cordoned after the grace period
//	2 of 2  is more than half: both stay Active
//	1 of 3  is cordoned; 2 of 3 and 3 of 3 stay Active
//
// # The last control-plane domain
//
// A domain is published with controlPlane: true while it is Active and meant for control planes. Without any such domain Cluster
// API would create control-plane Machines without a failure domain. Therefore, once a domain has been published for control
// planes, at least one always is; see Result.Kept. This holds whether the last one is lost to its health, to the user's intent or
// to its removal by a lost label, a typo in a selector or a deletion. Removed domains that were published for control planes stay
// listed as Cordoned until another domain may take control planes. Before the first one is Active, none is published for control
// planes, and the provider must not report the cluster's infrastructure as provisioned.
package distribution
