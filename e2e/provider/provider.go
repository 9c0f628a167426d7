// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider defines everything that e2e needs from an infrastructure provider. Each implementation has a folder here; package all
// registers them. The demo, chaos tests, benchmarks, the kind environment and the specs use providers only through these interfaces.
package provider

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// DefaultName is the provider of commands that name none.
const DefaultName = binaries.DefaultProvider

// Provider describes a provider and how to install it.
type Provider interface {
	Describe() Description
	// AddToScheme registers the provider's types and the types that it works with.
	AddToScheme(scheme *runtime.Scheme) error
	// Objects returns third-party objects without which the provider does not start.
	Objects() ([]*unstructured.Unstructured, error)
}

// Description holds the constants of a provider.
type Description struct {
	// Name is the folder in providers/ and templates/, and the provider's name in clusterctl.
	Name string
	// System is the name of the infrastructure in output for people.
	System string
	// Namespace is the provider's namespace, and Certificate the Secret there with the serving certificate of its webhooks.
	Namespace, Certificate string
	// Programs are the programs of its simulation, in addition to those of a management cluster.
	Programs []string
	// Unset maps variables of the provider's component to values that disable the optional feature.
	Unset map[string]string
	// Domains are the failure domains of its cluster templates, sorted.
	Domains []string
	// Flavor is the flavor prefix of the templates that have Domains; "" if all have them.
	Flavor string
	// Several is the flavor of its templates with each domain on an infrastructure of its own; "" if it has none.
	Several string
	// ExternalEndpoint is the flavor of its templates whose control-plane endpoint is set by the variables of kube-vip; "" if the default
	// flavor is.
	ExternalEndpoint string
	// DomainKind is the kind of the objects, named like the domains, whose Ready condition reports the health of a domain; nil if the
	// provider has none.
	DomainKind *schema.GroupVersionKind
	// BreakStops is set if machines in a domain stop when it breaks.
	BreakStops bool
	// Upstream is the manager of upstream's release that the provider takes over from, whose source is that of Builder.Upstream; "" if none.
	Upstream string
	// ClusterKind is the kind of the infrastructure cluster.
	ClusterKind string
	// Kinds maps the kinds whose objects make up a cluster to the condition that reports them as ready; "" if they have none.
	Kinds map[schema.GroupVersionKind]string
	// Shared are the cluster-scoped kinds of the cluster template, each before those that depend on it. Clusters share their objects.
	Shared []string
	// Shown are parts of clusterctl's description of a cluster of the provider.
	Shown []string
}

// ManagementPrograms returns the programs of a management cluster with the provider, including those of its simulation.
func (d Description) ManagementPrograms() []string {
	return append(binaries.Demo(d.Name), d.Programs...)
}

// Of returns an empty object of one of Kinds.
func (d Description) Of(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	for known := range d.Kinds {
		if known.Kind == kind {
			object.SetGroupVersionKind(known)
		}
	}
	return object
}

// MachineKind returns the kind of the infrastructure machine.
func (d Description) MachineKind() string {
	return strings.TrimSuffix(d.ClusterKind, "Cluster") + "Machine"
}
