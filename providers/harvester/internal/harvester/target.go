// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvester is the access to Harvester clusters: connections, what is known of the objects there, and who is woken when
// they change. Nothing else talks to Harvester.
//
// There is one connection for each Harvester and account, whatever number of clusters uses it. It reads from informers, which are
// started when something of their kind is first asked for, in the namespaces that are used, and stopped when no object has its machines there
// and nothing has been asked for in a while. What machines refer to in any namespace it reads from Harvester itself. It writes to Harvester directly. No
// reconcile waits for a connection or an informer: who asks too early is told so, and woken when there is something to be had.
package harvester

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Target is a Harvester, and what of it is used.
type Target struct {
	// Identity is the Secret with the kubeconfig.
	Identity client.ObjectKey
	// From is the namespace of the cluster, which the Secret must allow.
	From string
	// Namespace is where virtual machines are.
	Namespace string
	// UID tells one Harvester from another: the UID of its namespace kube-system; "" for whichever the kubeconfig leads to.
	UID string
}

// TargetOf is where the machines of a cluster are.
func TargetOf(cluster *infrav1.HarvesterCluster) Target {
	identity := cluster.Spec.IdentitySecret
	return Target{
		Identity:  client.ObjectKey{Namespace: identity.Namespace, Name: identity.Name},
		From:      cluster.Namespace,
		Namespace: cluster.Spec.TargetNamespace,
		UID:       cluster.Annotations[infrav1.HarvesterUIDAnnotation],
	}
}

// Kind is a kind of object that is woken.
type Kind int

// The kinds that use connections.
const (
	Cluster Kind = iota
	Machine
)

// Asker is an object that uses a connection: it is reconciled when the connection comes, goes or is another.
type Asker struct {
	Kind Kind
	Key  client.ObjectKey
}

// Problem says why Harvester cannot be used, or why what is known of it may be old: a reason for the condition
// HarvesterConnectionReady, and a message with the way out.
type Problem struct {
	Reason, Message string
	// Pending says that there is nothing wrong yet: the connection is being made.
	Pending bool
}

func (p *Problem) Error() string { return p.Message }
