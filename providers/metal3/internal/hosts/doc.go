// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosts is the only place that chooses, claims, configures and releases BareMetalHosts.
//
// What is known of the hosts is kept in an Inventory, which the informer of BareMetalHosts writes. The Inventory gives a machine the
// host it should claim and reserves that host for nobody else in this process meanwhile; a machine for which there is none
// is kept in the Inventory as waiting, and is called the moment a host turns up for it: one machine for one host.
//
// The reservation only saves requests. What makes sure that a host has one owner is the API server: the patch that claims a
// host carries the resource version at which the host was free, so of two managers that try, one is refused.
//
// All writes are merge patches of the fields that this provider owns, so that fields of newer operators survive.
package hosts
