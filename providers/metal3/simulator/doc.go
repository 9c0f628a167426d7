// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator is a bare-metal operator without metal: it moves BareMetalHosts through the states of the real one,
// in the same order and with the same status fields, as fast or slow as it is told, and fails where it is told.
//
// A Simulator is a controller. It works against any API server that has the two CRDs of this package, for the hosts of
// one namespace or of all. Layouts make hosts spread over failure domains. Hooks hear when a machine boots, and from
// what, so that something real can be started in its place.
package simulator
