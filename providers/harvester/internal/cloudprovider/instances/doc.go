// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instances tells a guest cluster what Harvester knows of its Nodes: which virtual machines they are, their addresses, and the zone and
// region of the hosts that they run on.
package instances
