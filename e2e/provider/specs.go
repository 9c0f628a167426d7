// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/workload"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Specified is a provider that the specs can be run against.
type Specified interface {
	// Observe looks at the clusters of a management cluster, and at what the outside system has of them.
	Observe(m Management) Observer
	// Connect switches machines of clusters that are kept in memory on and off until ctx ends, as the outside system says. It has
	// nothing to do where that switches them itself.
	Connect(ctx context.Context, management *rest.Config, workloads *workload.Simulator) error
	// CutOff is the fault of the simulator that takes a failure domain away with what is in it.
	CutOff(domain string) (fault string)
}

// Management is a management cluster in kind.
type Management struct {
	// Client is the one of today: specs look at several clusters.
	Client func() client.Client
	// Variables are those of cluster templates.
	Variables func() map[string]string
	// Boot tells that machines boot.
	Boot bool
	// Endpoint is the address of the control plane of the cluster whose template is written next.
	Endpoint func() string
}

// Observer looks at clusters of a provider.
type Observer interface {
	// Prepare makes a namespace ready for the provider's cluster template, and tells its variables that are the namespace's own.
	Prepare(ctx context.Context, namespace string) (variables map[string]string, err error)
	// Distribute changes how a cluster uses its failure domains.
	Distribute(ctx context.Context, cluster client.ObjectKey, change func(*faultlinev1.Distribution)) error
	// SetDomains gives a cluster the failure domains of these names, out of those of the Description, and no others.
	SetDomains(ctx context.Context, cluster client.ObjectKey, names []string) error
	// Observed tells in which failure domain the provider observed each control-plane machine of a namespace.
	Observed(ctx context.Context, namespace string) (map[string]string, error)
	// Places tells, as the outside system says, where each machine is whose cluster has this name: its failure domain by
	// the machine's name.
	Places(ctx context.Context, cluster string) (map[string]string, error)
	// Machines are those of the cluster as the outside system knows them, by name: all that tells a machine from another, and
	// tells whether something was done to it.
	Machines(ctx context.Context, cluster string) (map[string]any, error)
	// SetBroken makes a failure domain unfit for new machines, or repairs it. Machines in it stay.
	SetBroken(ctx context.Context, domain string, broken bool) error
}
