// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster simulates the parts of a Harvester cluster other than virtual machines: hosts, their failures and requirements
// on them; names and DHCP leases of networks; Longhorn, the Kubernetes controllers that bind and protect PVCs, and the import of
// images; the parts of Kubernetes that run neither in the API server nor in kube-scheduler, which are the garbage collector,
// ServiceAccount tokens and kubelets; Harvester's load balancer with its IP pools; and kube-vip, which announces the addresses of
// Services.
package cluster
