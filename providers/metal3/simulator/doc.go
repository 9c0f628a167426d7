// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator simulates the bare-metal operator without hardware: it moves BareMetalHosts through the operator's states, in
// the same order and with the same status fields, with configurable delays and faults.
//
// A Simulator is a controller. It runs against any API server that has the CRDs of this package, for the hosts of one namespace
// or of all. Layouts create hosts spread over failure domains. Hooks are called when a machine boots, with its boot data, so that
// a real workload can be started in its place.
package simulator
