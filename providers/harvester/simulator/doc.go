// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator is a Harvester cluster without hardware: a real API server and the real kube-scheduler, and controllers
// that play KubeVirt, Harvester, Longhorn's volumes, kube-vip and the load balancer. Virtual machines get their PVCs, their
// instance and its virt-launcher Pod, which kube-scheduler places on the hosts of a Layout. It can disobey: see Faults.
//
// Each of those who are played is a package below, which the README lists. This one puts them together, and is what tests and
// programs hold.
package simulator
