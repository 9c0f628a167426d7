// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quorum holds the machines of a control plane that are being deleted until enough others are healthy, and releases one
// at a time. It is for control planes without a pre-terminate hook of their own. A KubeadmControlPlane and an RKE2ControlPlane have
// one: they wait until all other hooks are removed before they remove an etcd member, so both hooks would wait for each other
// forever.
//
// # The hook
//
// Cluster API deletes the infrastructure of a Machine only if it has no annotation
// pre-terminate.delete.hook.machine.cluster.x-k8s.io/*. Faultline adds its hook before the Machine is deleted. Adding it
// afterwards may be too late, because Cluster API can drain an empty Node and delete the infrastructure in the same reconcile in
// which it first sees the deletion. docs/decisions/quorum-hook.md has the reasons.
//
// # Votes
//
// A machine is a member of the control plane once it has a Node. Its vote counts while the Node is Ready, the machine fails no
// health check, and, if the control plane reports the condition EtcdMemberHealthy on any of its Machines, that condition is True.
// So a machine whose etcd member is still a learner counts as a member but not as a voter. A machine that is being deleted still
// votes while it is held.
//
// # One at a time
//
// Decide makes the whole decision from a Snapshot. A machine is released when every released member has been deleted, and when
// the remaining voters are a majority of all members, or of spec.replicas of the control plane if that is greater. Of two
// members, one must remain. Before a release, the hook of every other held machine is updated to state that it must wait. That
// changes its resourceVersion, so that a concurrent manager with another decision gets a conflict. The value of the hook is for
// users to read.
package quorum
