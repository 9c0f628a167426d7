//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/e2e/kind"
)

// infrastructure is what the specs need to know about a provider and about what it drives.
type infrastructure interface {
	installation
	vocabulary
	outside

	// prepare makes a namespace ready for the provider's cluster template.
	prepare(ctx context.Context, namespace string)
	// shortenGrace makes a cluster act at once on what it sees of its failure domains.
	shortenGrace(ctx context.Context, g Gomega, namespace, cluster string)
	// observed tells in which failure domain the provider observed each control-plane machine of a namespace.
	observed(ctx context.Context, g Gomega, namespace string) map[string]string
	// described are parts of what clusterctl says of a cluster of the provider.
	described() []string
}

// installation is the provider in the management cluster.
type installation interface {
	addToScheme(*runtime.Scheme) error
	// namespace is where the provider runs, and certificate the Secret there that its webhooks serve with.
	namespace() string
	certificate() string
}

// vocabulary is the provider's kinds.
type vocabulary interface {
	// clusterKind is the kind that stands for a Cluster.
	clusterKind() string
	// kinds are those whose objects make up a cluster, with the condition that says that all is well; "" if there is none.
	kinds() map[schema.GroupVersionKind]string
	// shared are the kinds of the cluster template that are in no namespace, each before those that need it: clusters share
	// them.
	shared() []string
}

// outside is the system that the provider drives, as its administrator knows it.
type outside interface {
	// domains are the failure domains of the cluster template, in order.
	domains() []string
	// places tells, as the outside system says, where each machine is whose cluster has this name: its failure domain by
	// the machine's name.
	places(ctx context.Context, cluster string) map[string]string
	// machines are those of the cluster as the outside system knows them, by name: all that tells a machine from another, and
	// tells whether something was done to it.
	machines(ctx context.Context, cluster string) map[string]any
	// setBroken makes a failure domain unfit for new machines, or mends it. Machines in it stay.
	setBroken(ctx context.Context, domain string, broken bool)
	// handOver keeps what drives the machines of the environment's clusters from acting while their objects are moved away.
	handOver(ctx context.Context, from *kind.Environment, move func())
}

func infrastructures() map[string]infrastructure {
	return map[string]infrastructure{"vsphere": vSphere{}, "metal3": bareMetal{}}
}
