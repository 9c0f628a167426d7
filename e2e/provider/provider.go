// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider says what e2e knows of an infrastructure provider, and all that it knows. Each implementation is a folder here;
// package all registers them. The demo, storms, benchmarks, the kind environment and the specs use them by what is said here.
package provider

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// DefaultName is the provider that a command is about which names none.
const DefaultName = binaries.DefaultProvider

// InDemo is a provider that can be shown.
type InDemo interface {
	Installed
	Demonstrated
}

// InStorm is a provider whose manager can be killed at random.
type InStorm interface {
	Installed
	StormProvider
}

// InRebalance is a provider of which many clusters can be side by side, so that moves of their control planes can be tried.
type InRebalance interface {
	Installed
	SitesProvider
}

// InKind is a provider that can be installed in a kind environment with its simulated infrastructure, for the specs.
type InKind interface {
	Installed
	Contained
}

// Installed is a provider as it is installed.
type Installed interface {
	Describe() Description
	// AddToScheme registers the provider's types and those that it works with.
	AddToScheme(scheme *runtime.Scheme) error
	// Objects are what others install beside the provider, and what it does not start without.
	Objects() ([]*unstructured.Unstructured, error)
}

// Description is what does not change about a provider.
type Description struct {
	// Name is a folder of providers/ and of templates/, and clusterctl's name.
	Name string
	// System is what the infrastructure is called in what people read.
	System string
	// Namespace is where the provider runs, and Certificate the Secret there that its webhooks serve with.
	Namespace, Certificate string
	// Programs are what its simulation runs, beside what a management cluster does.
	Programs []string
	// Unset are variables of the provider's component, with values for where it does without what they are for.
	Unset map[string]string
	// Domains are the failure domains of its cluster templates, sorted.
	Domains []string
	// Flavor begins the flavors of the templates that have Domains; "" if all have them.
	Flavor string
	// DomainKind is the kind of the objects, named like the domains, whose Ready condition tells of their health; nil if the
	// provider has none.
	DomainKind *schema.GroupVersionKind
	// BreakStops tells that what runs in a domain stops when it breaks.
	BreakStops bool
	// ClusterKind is the kind that stands for a Cluster.
	ClusterKind string
	// Kinds are those whose objects make up a cluster, with the condition that says that all is well; "" if there is none.
	Kinds map[schema.GroupVersionKind]string
	// Shared are the kinds of the cluster template that are in no namespace, each before those that need it: clusters share
	// them.
	Shared []string
	// Shown are parts of what clusterctl says of a cluster of the provider.
	Shown []string
}

// ManagementPrograms are what a management cluster with the provider runs, with those of its simulation.
func (d Description) ManagementPrograms() []string {
	return append(binaries.Demo(d.Name), d.Programs...)
}

// MachineKind is the kind that stands for a Machine.
func (d Description) MachineKind() string {
	return strings.TrimSuffix(d.ClusterKind, "Cluster") + "Machine"
}
