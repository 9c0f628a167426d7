// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebalance spreads the machines of a control plane anew when failure domains have come or gone. Cluster API spreads
// them when it creates them, and never again.
//
// # One machine at a time
//
// In mode SurgeOne the KubeadmControlPlane itself replaces one machine, the new one first, with all of its own checks. It is made
// to by two annotations: cluster.x-k8s.io/delete-machine on the Machine says which one, and a changed
// cluster.x-k8s.io/cloned-from-name on its infrastructure machine makes it one that is not up to date. docs/decisions/cloned-from.md
// has the reasons.
//
// Decide is the whole decision, from a Snapshot: it names the next write of a move, or every reason against one. A move is
//
//	record         on the infrastructure cluster, before anything else
//	mark           delete-machine on the Machine, with a mark beside it that says whose it is
//	mark           cloned-from-name on the infrastructure machine
//	wake           the Machine again: a control plane does not watch infrastructure machines
//	wait           for the replacement, and for the machine to go
//	take off       the record, when status.lastMove has been written
//
// Each of these is found again from the objects alone, so a manager that dies between any two goes on where it was. As long as
// there is no replacement the gate must hold as it did at the start, or the move is aborted: that, too, is recorded first, then
// cloned-from-name is restored, then delete-machine is taken off. With a replacement the move goes on to its end.
//
// People may change any of it meanwhile. A delete-machine that has another value is theirs: it aborts the move and stays. What is taken off
// is written again as long as there is a record; without one, all that is left is taken off.
//
// # The gate
//
// Guards are reasons against a move, each a function of the snapshot. The model in model_test.go goes through everything that
// can happen meanwhile to a control plane of three and of five machines, and shows for every guard what would go wrong without it.
package rebalance
