// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator runs a vCenter in the process: govmomi's vcsim with datacenters, compute clusters, host groups, tags,
// datastores, networks and templates. It counts calls and injects faults.
//
// Any number of servers can run in one process. Each has its own inventory, certificate, accounts, sessions, counters and faults.
//
// Where vcsim differs from vCenter in a way that matters to a client that places machines, this package corrects it; the README
// lists the differences.
package simulator
