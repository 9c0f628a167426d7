// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instances reads the Nodes of a guest cluster from Harvester: their virtual machines, their addresses, and the zone and region
// of their hosts.
package instances
