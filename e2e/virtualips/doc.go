// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualips lets the load balancers of a simulated Harvester answer. It takes the address of each Service on a network card of
// this machine, as kube-vip does on a host, and leads connections to the Service's endpoints. Load balancers that ask a DHCP server for an
// address have as much of one (RFC 2131) as clients need that ask, get an address and keep it.
package virtualips
