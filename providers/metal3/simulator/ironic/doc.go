// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ironic simulates Ironic and the machines that it manages. Upstream's bare-metal operator runs against it as against a
// real Ironic, so that BareMetalHosts are written by the real operator.
//
// A Server implements the part of Ironic's API (version 1.95) that the operator uses: nodes with their provision and power
// states, ports, maintenance, inventory. Each node has a machine that is on or off and boots the deployed config drive. Run polls
// the power of the machines as Ironic does: a BMC that does not respond four times in a row puts its node into maintenance with
// the fault "power failure" and an unknown power state, and a single response ends that.
//
// Nodes are found by UUID or by name. The operator names a node NAMESPACE~HOST; faults take these two as arguments.
package ironic
