// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"

	"k8s.io/utils/ptr"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

// clusterAPIPools serves pools of any kind that fulfil Cluster API's IPAddressClaims.
type clusterAPIPools struct {
	*Reconciler
}

func (c clusterAPIPools) Serves(pool render.Pool) bool {
	return !pool.Metal3()
}

func (c clusterAPIPools) Address(ctx context.Context, s *scope, pool render.Pool) (*render.Address, string, error) {
	reference := ipamclusterv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name}
	answer, err := c.owner(s).Address(ctx, claimName(s.data.Name, pool.Name), reference)
	if err != nil {
		return nil, "", withReason(infrav1.Metal3DataAddressClaimRefusedReason, err)
	}
	s.requeueAfter(answer.RetryAfter)
	if answer.Address == nil {
		return nil, answer.Problem, nil
	}
	return &render.Address{
		Address: answer.Address.Address, Prefix: ptr.Deref(answer.Address.Prefix, 0), Gateway: answer.Address.Gateway,
	}, "", nil
}

func (c clusterAPIPools) Release(ctx context.Context, data *infrav1.Metal3Data) error {
	return c.claims(data, nil).ReleaseAll(ctx)
}
