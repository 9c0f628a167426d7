// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvester provides access to Harvester clusters: connections, caches, and the events that enqueue reconciles. No other package
// of the provider sends requests to Harvester.
//
// There is one connection for each Harvester and account, however many clusters use it. It reads from informers. They are started in a
// namespace when a kind is first read there, and stopped when the namespace has no machines of an asker and was not read for a while.
// Objects that machines may refer to in any namespace are read from Harvester directly. Writes go to Harvester directly. A reconcile
// never waits for a connection or an informer: it gets an error and is enqueued again when the connection or the informer is ready.
package harvester

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Target is a Harvester and the part of it that a cluster uses.
type Target struct {
	// Identity is the Secret with the kubeconfig.
	Identity client.ObjectKey
	// From is the namespace of the cluster, which the Secret must allow.
	From string
	// Namespace is the namespace of the virtual machines.
	Namespace string
	// UID identifies the Harvester, by the UID of its namespace kube-system. "" accepts any Harvester.
	UID string
}

// TargetOf returns the target of a cluster.
func TargetOf(cluster *infrav1.HarvesterCluster) Target {
	identity := cluster.Spec.IdentitySecret
	return Target{
		Identity:  client.ObjectKey{Namespace: identity.Namespace, Name: identity.Name},
		From:      cluster.Namespace,
		Namespace: cluster.Spec.TargetNamespace,
		UID:       cluster.Annotations[infrav1.HarvesterUIDAnnotation],
	}
}

// Kind is the kind of an asker.
type Kind int

// The kinds of askers.
const (
	Cluster Kind = iota
	Machine
)

// Requester is an object that uses a connection. It is enqueued when the connection is established, lost or replaced.
type Requester struct {
	Kind Kind
	Key  client.ObjectKey
}

// Problem is why Harvester cannot be used or why its caches may be stale. It has a reason for the condition HarvesterConnectionReady and
// a message with the fix.
type Problem struct {
	Reason, Message string
	// Pending is set while the connection is being established for the first time.
	Pending bool
}

func (p *Problem) Error() string { return p.Message }
