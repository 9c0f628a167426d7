// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator runs a vCenter in the process: govmomi's vcsim, laid out as
// datacenters, compute clusters, host groups, tags, datastores, networks and
// templates, counting the calls it answers and failing on demand.
//
// Any number of servers run side by side in one process. Each has its own
// inventory, certificate, accounts, sessions, counters and faults.
//
// Where vcsim behaves unlike vCenter in a way that matters to a client that
// places machines, this package corrects it; the README lists how.
package simulator
