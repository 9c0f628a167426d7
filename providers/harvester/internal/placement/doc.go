// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement tells what the hosts of a Harvester mean for the failure domains of a cluster, and what the failure domains
// mean for its virtual machines. It only computes, but for Harvester and ReadHosts in provider.go, which read hosts of a connection: Harvester tells
// what works for every infrastructure what Harvester is.
package placement
