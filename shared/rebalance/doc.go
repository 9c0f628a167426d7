// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebalance rebalances the machines of a control plane after failure domains have changed. Cluster API only spreads
// machines when it creates them.
//
// # One machine at a time
//
// In mode SurgeOne the KubeadmControlPlane itself replaces one machine, with its own checks, and creates the new one first. Two
// annotations trigger this: cluster.x-k8s.io/delete-machine on the Machine selects it, and a changed
// cluster.x-k8s.io/cloned-from-name on its infrastructure machine makes it not up to date. docs/decisions/cloned-from.md has the
// reasons.
//
// Decide makes the whole decision from a Snapshot: it returns the next write of a move, or every reason against one. A move
// consists of these steps:
//
//	record         on the infrastructure cluster, before anything else
//	mark           delete-machine on the Machine, with an annotation that identifies Faultline as its owner
//	mark           cloned-from-name on the infrastructure machine
//	trigger        change the Machine again: a control plane does not watch infrastructure machines
//	wait           for the replacement, and for the deletion of the machine
//	remove         the record, after status.lastMove has been written
//
// The progress can be derived from the objects alone, so a manager that restarts between any two steps continues. As long as
// there is no replacement, the guards must hold as they did at the start. Otherwise the move is aborted: the manager records that
// first, then restores cloned-from-name, then removes delete-machine. Once there is a replacement, the move is completed.
//
// Users may change any of this at any time. A delete-machine annotation with another value belongs to the user: it aborts the
// move and is kept. Annotations that are removed are written again as long as there is a record. Without a record, the remaining
// ones are removed.
//
// # Guards
//
// Guards are reasons against a move, each a function of the snapshot. The model in model_test.go explores all interleavings for
// control planes of three and of five machines, and shows for every guard what would go wrong without it.
package rebalance
