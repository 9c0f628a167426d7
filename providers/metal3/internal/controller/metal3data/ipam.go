// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

const addressClaimKind = "IPAddressClaim"

// clusterAPIPools are pools of any kind that answer Cluster API's IPAddressClaims.
type clusterAPIPools struct {
	*Reconciler
}

func (c clusterAPIPools) Serves(pool render.Pool) bool {
	return !pool.Metal3()
}

func (c clusterAPIPools) Address(ctx context.Context, s *scope, pool render.Pool) (*render.Address, string, error) {
	claim, name := &ipamclusterv1.IPAddressClaim{}, claimName(s.data.Name, pool.Name)
	found, err := c.find(ctx, s.data, name, claim)
	if err != nil {
		return nil, "", err
	}
	if !found {
		return nil, "", c.claim(ctx, s.data, name, pool)
	}
	if problem, err := c.unusable(ctx, claim, addressClaimKind, s); err != nil || problem != "" {
		return nil, problem, err
	}
	address := &ipamclusterv1.IPAddress{}
	if found, err := c.find(ctx, s.data, claim.Status.AddressRef.Name, address); err != nil {
		return nil, "", err
	} else if !found {
		return nil, cmp.Or(claimProblem(claim, pool), s.overdue(claim, addressClaimKind, pool, time.Now())), nil
	}
	return &render.Address{
		Address: address.Spec.Address, Prefix: ptr.Deref(address.Spec.Prefix, 0), Gateway: address.Spec.Gateway,
	}, "", nil
}

func (c clusterAPIPools) claim(ctx context.Context, data *infrav1.Metal3Data, name string, pool render.Pool) error {
	claim := &ipamclusterv1.IPAddressClaim{
		ObjectMeta: claimMeta(data, name),
		Spec: ipamclusterv1.IPAddressClaimSpec{
			ClusterName: data.Labels[clusterv1.ClusterNameLabel],
			PoolRef:     ipamclusterv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name},
		},
	}
	return c.create(ctx, claim, addressClaimKind, infrav1.Metal3DataAddressClaimRefusedReason)
}

// claimProblem is what the pool's provider says of a claim that has no address. Only the provider knows the kind of its
// pools, so that nobody else can tell whether one exists.
func claimProblem(claim *ipamclusterv1.IPAddressClaim, pool render.Pool) string {
	ready := conditions.Get(claim, ipamclusterv1.IPAddressClaimReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf("%s gives no address: %s: %s", pool, ready.Reason, ready.Message)
}

func (c clusterAPIPools) Release(ctx context.Context, data *infrav1.Metal3Data) error {
	claims := &ipamclusterv1.IPAddressClaimList{}
	if err := c.Client.List(ctx, claims, client.InNamespace(data.Namespace), client.MatchingFields{ownerIndex: data.Name}); err != nil {
		return fmt.Errorf("listing IPAddressClaims of %s: %w", data.Name, err)
	}
	for i := range claims.Items {
		if err := c.release(ctx, &claims.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
