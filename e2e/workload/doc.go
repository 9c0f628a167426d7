// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload simulates the clusters that Cluster API creates, so that an infrastructure provider and the real Cluster API
// controllers can run without booting machines.
//
// A Simulator watches Clusters and Machines on a management API. As soon as the infrastructure of a Machine is provisioned and its
// bootstrap data exists, the Machine "boots": a Node appears in an in-memory API server, and for a control-plane Machine also the static
// pods and the etcd member that kubeadm would have started. That API server and etcd serve over TLS, with certificates from the Cluster's
// own authorities, at the control-plane endpoint, so the controllers connect to it as to any other cluster.
//
// An infrastructure that waits for the Node instead calls PowerOn and PowerOff when a Machine boots and stops.
//
// The package does not depend on any provider: it only uses the contract between Cluster API and providers. A Cluster is simulated if its
// control-plane endpoint belongs to the Simulator; others are ignored.
//
// The API server does not authenticate or authorize requests, and keeps nothing when the process ends.
package workload
