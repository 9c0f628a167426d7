// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

// NodeAntiAffinity is the feature gate of cluster modules, the only one of upstream's that has an effect.
const NodeAntiAffinity = "NodeAntiAffinity"

// Gate is a feature gate of upstream's manager that has no effect here.
type Gate struct{ Name, Why string }

// IgnoredGates returns the gates of all upstream releases from which a migration is supported, because upstream's Deployment
// sets each of them explicitly.
func IgnoredGates() []Gate {
	const supervisor = "this provider does not support clusters on a Supervisor"
	return []Gate{
		{"PriorityQueue", "the default workqueue is used"},
		{"ReconcilerRateLimiting", "objects are reconciled only when they or their dependencies change"},
		{"NodeLabeling", "--label-nodes controls the labels of Nodes"},
		{"MultiNetworks", supervisor},
		{"NamespaceScopedZones", supervisor},
		{"NodeAutoPlacement", supervisor},
		{"ClusterNetworkProvider", supervisor},
		{"InfrastructurePolicies", supervisor},
		{"IPv6DualStack", supervisor},
		{"VLANSubinterface", supervisor},
		{"AllBeta", "this provider has no beta feature gates"},
	}
}
