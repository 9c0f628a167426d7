// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/validation"
	"github.com/faultline-io/faultline/shared/provider"
)

// AddToScheme adds the kinds that are read.
func AddToScheme(scheme *runtime.Scheme) error { return validation.AddToScheme(scheme) }

// capacityProvider is the provider that returns the capacity for machines of a kind.
type capacityProvider struct {
	kind schema.GroupVersionKind
	can  provider.Capabilities
}

// providerFor returns the provider to ask about machines of a kind; it returns false if such machines suit every host.
func providerFor(reader client.Reader, kind string) (capacityProvider, bool) {
	if kind == "Metal3Machine" {
		return capacityProvider{infrav1.GroupVersion.WithKind(kind), validation.Capabilities(reader)}, true
	}
	return capacityProvider{}, false
}

// Capacity reads the capacity for machines that do not suit every host. It adds to each machine in a lost failure domain the
// requirements of its replacement, and to its cluster the capacity for these. Each provider defines the rules. If nothing is
// lost, nothing is read.
func Capacity(ctx context.Context, c client.Client, clusters []report.Cluster, lost []string) error {
	problems := make([]error, 0, len(clusters))
	for i := range clusters {
		problems = append(problems, addCapacities(ctx, c, &clusters[i], lost))
	}
	return JoinErrors(problems...)
}

func addCapacities(ctx context.Context, c client.Client, cluster *report.Cluster, lost []string) error {
	made := map[string]map[string]client.Object{}
	for i := range cluster.Domains {
		domain := &cluster.Domains[i]
		if !slices.Contains(lost, domain.Name) {
			continue
		}
		for j := range domain.Machines {
			machine := &domain.Machines[j]
			who, selective := providerFor(c, machine.Infrastructure.Kind)
			if !selective {
				continue
			}
			if made[who.kind.Kind] == nil {
				found, err := machines(ctx, c, who.kind, cluster)
				if err != nil {
					return err
				}
				made[who.kind.Kind] = found
			}
			if infra := made[who.kind.Kind][machine.Infrastructure.Name]; infra != nil {
				if err := addCapacity(ctx, who.can, infra, cluster, machine); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addCapacity reads the capacity once for all machines with the same requirements.
func addCapacity(ctx context.Context, can provider.Capabilities, infra client.Object, cluster *report.Cluster, machine *report.Machine) error {
	machine.Suits = can.Requirements(infra)
	if _, known := cluster.SuitableCapacity[machine.Suits]; known || machine.Suits == "" {
		return nil
	}
	room, err := can.Capacity(ctx, infra)
	if err != nil {
		return Refused(fmt.Errorf("reading the capacity for the replacement of Machine %s: %w", machine.Name, err), "list", cluster.Namespace)
	}
	if cluster.SuitableCapacity == nil {
		cluster.SuitableCapacity = map[string]map[string]int{}
	}
	cluster.SuitableCapacity[machine.Suits] = room
	return nil
}

// machines lists the infrastructure machines of a cluster, by name. It returns none if the version is not served, because they
// belong to an older provider or do not exist.
func machines(ctx context.Context, c client.Client, kind schema.GroupVersionKind, cluster *report.Cluster) (map[string]client.Object, error) {
	found := map[string]client.Object{}
	object, err := c.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("listing machines of kind %s: %w", kind.Kind, err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("listing machines of kind %s: %T is not a list", kind.Kind, object)
	}
	err = c.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name})
	if meta.IsNoMatchError(err) {
		return found, nil
	}
	if err != nil {
		return nil, Denied(err, c.RESTMapper(), kind, "list", cluster.Namespace)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if machine, ok := item.(client.Object); ok {
			found[machine.GetName()] = machine
		}
		return nil
	})
	return found, err
}
