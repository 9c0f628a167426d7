// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quorum holds the machines of a control plane that are being deleted until enough others are healthy, and lets one go at a
// time. It is for control planes that bring no pre-terminate hook of their own; a KubeadmControlPlane has one, waits for all others
// to be gone before it removes an etcd member, and would never get on with ours.
//
// # The hook
//
// Cluster API deletes the infrastructure of a Machine only when no annotation pre-terminate.delete.hook.machine.cluster.x-k8s.io/* is
// on it. Ours is put on while nobody deletes the Machine: one that is put on afterwards may be too late, as Cluster API can drain an
// empty Node and delete the infrastructure in the reconcile in which it first sees the deletion. docs/decisions/quorum-hook.md has the
// reasons.
//
// # Who votes
//
// A machine is a member of the control plane from when it has a Node. Its vote counts while that is Ready, the machine fails no health
// check, and, where the control plane reports the condition EtcdMemberHealthy on any of its Machines, that is True. So a machine whose
// etcd is still learning counts as a member and not as a voter. A machine that is being deleted still votes while it is held.
//
// # One at a time
//
// Decide is the whole decision, from a Snapshot. A machine is let go when no other member that was let go is still there, and when
// the voters left are a majority of all members, or of spec.replicas of the control plane if that is more. Of two members, one must be
// left. Before that, every other machine that is held is told that it is not its turn: that changes its resource version, so that a
// manager that has decided otherwise meanwhile fails to write. What it was told is the value of the hook, for people to read.
package quorum
