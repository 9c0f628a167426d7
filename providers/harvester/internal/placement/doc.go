// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement maps the hosts of a Harvester to a cluster's failure domains, and failure domains to the scheduling constraints of
// virtual machines. It only computes. The exceptions are Harvester and ReadHosts in provider.go, which read hosts through a connection:
// Harvester implements provider.Provider.
package placement
