// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipamclaim

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/terminalerror"
)

const claimKind = "IPAddressClaim"

// Answer is what there is to a claim. Its zero value means that there is nothing yet, and that an event will tell.
type Answer struct {
	// Address is the claimed one; nil as long as there is none.
	Address *ipamclusterv1.IPAddressSpec
	// Problem is what keeps it from coming, for the user to solve.
	Problem string
	// RetryAfter is when to ask again if no event comes before; 0 for never.
	RetryAfter time.Duration
}

// Address claims an address of the pool, under this name, unless that is done. An error is a terminalerror.Error where the API
// server refuses the claim. Changes of the claim and new addresses bring the owner back: it watches both.
func (o Owner) Address(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	claim, err := reconcile.Find(ctx, o.Client, client.ObjectKey{Namespace: o.Object.GetNamespace(), Name: name}, &ipamclusterv1.IPAddressClaim{})
	if err != nil {
		return Answer{}, err
	}
	if claim == nil {
		return Answer{}, terminalerror.Create(ctx, o.Client, &ipamclusterv1.IPAddressClaim{
			ObjectMeta: o.Meta(name),
			Spec:       ipamclusterv1.IPAddressClaimSpec{ClusterName: o.Object.GetLabels()[clusterv1.ClusterNameLabel], PoolRef: pool},
		}, claimKind)
	}
	if problem, err := o.Unusable(ctx, claim, claimKind); err != nil || problem != "" {
		return Answer{Problem: problem}, err
	}
	return o.answer(ctx, claim, pool)
}

func (o Owner) answer(ctx context.Context, claim *ipamclusterv1.IPAddressClaim, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	if name := claim.Status.AddressRef.Name; name != "" {
		address, err := reconcile.Find(ctx, o.Client, client.ObjectKey{Namespace: claim.Namespace, Name: name}, &ipamclusterv1.IPAddress{})
		if err != nil {
			return Answer{}, err
		}
		if address != nil {
			return Answer{Address: &address.Spec}, nil
		}
	}
	from := pool.Kind + " " + pool.Name
	if problem := refusal(claim, from); problem != "" {
		return Answer{Problem: problem}, nil
	}
	problem, tooEarly := Overdue(claim, claimKind, from, time.Now())
	return Answer{Problem: problem, RetryAfter: tooEarly}, nil
}

// refusal is what the pool's provider says of a claim that has no address. Only the provider knows the kind of its pools, so that
// nobody else can tell whether one exists.
func refusal(claim *ipamclusterv1.IPAddressClaim, pool string) string {
	ready := conditions.Get(claim, ipamclusterv1.IPAddressClaimReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf("%s gives no address: %s: %s", pool, ready.Reason, ready.Message)
}

// ReleaseAll gives all addresses of the owner back. It needs the index OwnerIndex of IPAddressClaims.
func (o Owner) ReleaseAll(ctx context.Context) error {
	claims := &ipamclusterv1.IPAddressClaimList{}
	if err := o.Client.List(ctx, claims, client.InNamespace(o.Object.GetNamespace()), client.MatchingFields{OwnerIndex: o.Object.GetName()}); err != nil {
		return fmt.Errorf("listing IPAddressClaims of %s: %w", o.Object.GetName(), err)
	}
	for i := range claims.Items {
		if err := o.Release(ctx, &claims.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
