// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator simulates a Harvester cluster without hardware: a real API server and the real kube-scheduler, and
// controllers that simulate KubeVirt, Harvester, Longhorn volumes, kube-vip and the load balancer. Virtual machines get their
// PVCs, their instance and its virt-launcher Pod, which kube-scheduler schedules to the hosts of a Layout. Faults can be
// injected: see Faults.
//
// Each simulated component is in a package below, listed in the README. This package assembles them and is the API for tests and
// programs.
package simulator
