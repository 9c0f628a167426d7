// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ironic simulates Ironic and the machines that it manages. Upstream's bare-metal operator runs against it as against a real one,
// so that what the operator writes to BareMetalHosts is the operator's own.
//
// A Server answers the part of Ironic's API (version 1.95) that the operator uses: nodes with their provision and power states, ports,
// maintenance, inventory. Behind each node is a machine that is on or off and boots the config drive that was deployed to it. Run polls
// the power of the machines as Ironic does: a BMC that does not answer four times in a row puts its node into maintenance with the fault
// "power failure" and an unknown power state, and one answer ends that.
//
// Nodes are found by UUID or by name. The operator names a node NAMESPACE~HOST, and faults are set by these two.
package ironic
