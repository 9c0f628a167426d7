// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualips serves the load balancers of a simulated Harvester. It adds the address of each Service to a network card of this
// machine, as kube-vip does on a host, and forwards connections to the Service's endpoints.
package virtualips
