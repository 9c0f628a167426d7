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
	const supervisor = "clusters on a Supervisor are not for this provider"
	return []Gate{
		{"PriorityQueue", "objects are worked on in the order in which they change"},
		{"ReconcilerRateLimiting", "objects are worked on when something about them changes, and only then"},
		{"NodeLabeling", "--label-nodes is what gives Nodes their labels"},
		{"MultiNetworks", supervisor},
		{"NamespaceScopedZones", supervisor},
		{"NodeAutoPlacement", supervisor},
		{"ClusterNetworkProvider", supervisor},
		{"InfrastructurePolicies", supervisor},
		{"IPv6DualStack", supervisor},
		{"VLANSubinterface", supervisor},
		{"AllBeta", "there are no such gates"},
	}
}
