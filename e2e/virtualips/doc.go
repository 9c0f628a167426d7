// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtualips lets the load balancers of a simulated Harvester answer. It takes the address of each Service on a network card of
// this machine, as kube-vip does on a host, and leads connections to the Service's endpoints.
package virtualips
