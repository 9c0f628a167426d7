// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster plays what a Harvester cluster has besides virtual machines: hosts, how they go away and what is required of them; names and
// DHCP leases of networks; Longhorn, the controllers of Kubernetes that bind and protect PVCs, and the import of Harvester's images; those parts of
// Kubernetes that nobody runs beside the API server and kube-scheduler, which are the garbage collector, the tokens of ServiceAccounts and kubelets;
// Harvester's load balancer with its pools of addresses, and kube-vip, which announces the addresses of Services.
package cluster
