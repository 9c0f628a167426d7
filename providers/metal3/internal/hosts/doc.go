// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosts chooses, claims, configures and releases BareMetalHosts. No other package does.
//
// The informer of BareMetalHosts feeds an Inventory. The Inventory returns the host that a machine should claim, and reserves it
// so that no other machine in this process gets it. Without a host, the machine is recorded as waiting and is enqueued as soon as
// a host becomes available: one machine for each host.
//
// The reservation only saves requests. The API server guarantees that a host has a single consumer: the patch that claims a host
// carries the resourceVersion at which the host was free, so of two competing managers one gets a conflict.
//
// All writes are merge patches of the fields that this provider owns. Fields of newer operators are preserved.
package hosts
