// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
)

// gather reads everything that the machine depends on from the cache.
func (r *Reconciler) gather(ctx context.Context, metal3 *infrav1.Metal3Machine) (*scope, error) {
	p := patch.From(metal3)
	s := &scope{metal3: metal3, patch: &p}
	machine, err := util.GetOwnerMachine(ctx, r.Client, metal3.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	s.machine = machine
	cluster, err := util.GetClusterFromMetadata(ctx, r.Client, metal3.ObjectMeta)
	switch {
	case err == nil:
		s.cluster = cluster
	case !apierrors.IsNotFound(err) && !errors.Is(err, util.ErrNoCluster):
		return nil, err
	}
	if s.infraCluster, err = r.infrastructure(ctx, s.cluster); err != nil {
		return nil, err
	}
	if s.template, s.lostTemplate, err = r.readTemplate(ctx, metal3); err != nil {
		return nil, err
	}
	s.host, err = r.Hosts.Held(ctx, s.key(), annotatedHost(metal3))
	return s, err
}

func (r *Reconciler) infrastructure(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.Metal3Cluster, error) {
	if cluster == nil {
		return nil, nil
	}
	infra := &infrav1.Metal3Cluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}
	if err := r.Client.Get(ctx, key, infra); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading Metal3Cluster %s: %w", key, err)
	}
	return infra, nil
}

// dataTemplate is the Metal3DataTemplate for the machine on a host of the domain; nil when it has none.
func (s *scope) dataTemplate(domain string) *infrav1.Metal3ObjectRef {
	if s.template != nil && domain != "" {
		for i := range s.template.Spec.FailureDomainDataTemplates {
			if of := &s.template.Spec.FailureDomainDataTemplates[i]; of.FailureDomain == domain {
				return &of.DataTemplate
			}
		}
	}
	return s.metal3.Spec.DataTemplate
}
