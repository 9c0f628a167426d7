// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// newScope reads the objects that the machine depends on from the cache. It returns nil while the machine has no owner, unless it
// is being deleted, which requires none.
func (r *Reconciler) newScope(ctx context.Context, infra *infrav1.Metal3Machine, p *patch.Patch) (*scope, error) {
	of, incomplete, err := reconcile.OwnersOf(ctx, r.Client, infra, &infrav1.Metal3Cluster{})
	if err != nil {
		return nil, err
	}
	s := &scope{infra: infra, patch: p, machine: of.Machine, cluster: of.Cluster, infraCluster: of.InfraCluster}
	if incomplete {
		r.Hosts.Inventory.Forget(s.key())
		return nil, nil
	}
	if s.template, s.lostTemplate, err = r.readTemplate(ctx, infra); err != nil {
		return nil, err
	}
	s.host, err = r.Hosts.Find(ctx, s.key(), hosts.Named(infra))
	return s, err
}

// dataTemplate returns the Metal3DataTemplate for the machine on a host of the failure domain, or nil.
func (s *scope) dataTemplate(domain string) *infrav1.Metal3ObjectRef {
	if s.template != nil && domain != "" {
		for i := range s.template.Spec.FailureDomainDataTemplates {
			if of := &s.template.Spec.FailureDomainDataTemplates[i]; of.FailureDomain == domain {
				return &of.DataTemplate
			}
		}
	}
	return s.infra.Spec.DataTemplate
}
