// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload simulates the clusters that Cluster API makes, so that an
// infrastructure provider and the real Cluster API controllers can be run
// where nothing boots.
//
// A Simulator watches Clusters and Machines on a management API. As soon as
// the infrastructure of a Machine is provisioned and its bootstrap data is
// there, the Machine "boots": a Node appears in an API server kept in memory,
// and for a control-plane Machine the static pods and the etcd member that
// kubeadm would have started. That API server and etcd answer over TLS, with
// certificates from the Cluster's own authorities, at the control-plane
// endpoint, so that the controllers connect to it as to any other cluster.
//
// Infrastructure that waits for the Node instead tells with PowerOn and PowerOff
// when a Machine boots and stops.
//
// It knows nothing of any provider: all it reads is the contract between
// Cluster API and providers. A Cluster takes part when its control-plane
// endpoint is one of the Simulator's; others are left alone.
//
// The API server checks neither who asks nor what they may do, and keeps
// nothing when the process ends.
package workload
