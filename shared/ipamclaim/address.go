// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipamclaim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/faultline-io/faultline/shared/reconcile"
)

const claimKind = "IPAddressClaim"

// Answer is the result of a claim. The zero value means that there is no result yet, and that an event will trigger another
// reconcile.
type Answer struct {
	// Address is the claimed address; nil while none exists.
	Address *ipamclusterv1.IPAddressSpec
	// Problem is why there is no address, for the user to solve.
	Problem string
	// RetryAfter is when to ask again if no event arrives before; 0 for never.
	RetryAfter time.Duration
}

// Address claims an address of the pool under a name, if that has not been done, and returns the result. It returns a
// reconcile.RejectedError if the API server rejects the claim. The owner's controller must watch claims and addresses to be
// triggered by their changes.
func (o Owner) Address(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	claim, err := o.find(ctx, o.Client, name)
	if err != nil {
		return Answer{}, err
	}
	if claim == nil {
		return Answer{}, reconcile.Create(ctx, o.Client, &ipamclusterv1.IPAddressClaim{
			ObjectMeta: o.Meta(name),
			Spec:       ipamclusterv1.IPAddressClaimSpec{ClusterName: o.Object.GetLabels()[clusterv1.ClusterNameLabel], PoolRef: pool},
		}, claimKind)
	}
	return o.use(ctx, claim, pool)
}

// AddressInUse is Address for an address that is in use. It does not create a deleted claim again, because the new claim would get
// another address.
func (o Owner) AddressInUse(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	claim, err := o.find(ctx, o.Client, name)
	if err != nil {
		return Answer{}, err
	}
	if claim == nil {
		return Answer{Problem: fmt.Sprintf("%s %s was deleted, so its address may be allocated to another machine: replace the Machine", claimKind, name)}, nil
	}
	return o.use(ctx, claim, pool)
}

func (o Owner) find(ctx context.Context, reader client.Reader, name string) (*ipamclusterv1.IPAddressClaim, error) {
	return reconcile.Find(ctx, reader, client.ObjectKey{Namespace: o.Object.GetNamespace(), Name: name}, &ipamclusterv1.IPAddressClaim{})
}

func (o Owner) use(ctx context.Context, claim *ipamclusterv1.IPAddressClaim, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	if problem, err := o.Unusable(ctx, claim, claimKind); err != nil || problem != "" {
		return Answer{Problem: problem}, err
	}
	if err := o.Adopt(ctx, claim); err != nil {
		return Answer{}, err
	}
	if claim.Spec.PoolRef != pool {
		problem, err := o.otherPool(ctx, claim, pool)
		return Answer{Problem: problem}, err
	}
	return o.answer(ctx, claim, pool)
}

// otherPool releases what was claimed from a pool that is no longer requested, unless it is in use.
func (o Owner) otherPool(ctx context.Context, claim *ipamclusterv1.IPAddressClaim, pool ipamclusterv1.IPPoolReference) (string, error) {
	user, err := o.User(ctx)
	if err != nil {
		return "", err
	}
	of := fmt.Sprintf("%s %s refers to %s, not to %s", claimKind, claim.Name, title(claim.Spec.PoolRef), title(pool))
	if user != "" {
		return fmt.Sprintf("%s, and %s uses its address: replace the Machine", of, user), nil
	}
	return of + ": an address is claimed again after the claim is deleted", o.Release(ctx, claim)
}

// title returns the name of a pool in messages.
func title(pool ipamclusterv1.IPPoolReference) string { return pool.Kind + " " + pool.Name }

func (o Owner) answer(ctx context.Context, claim *ipamclusterv1.IPAddressClaim, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	if name := claim.Status.AddressRef.Name; name != "" {
		address, err := reconcile.Find(ctx, o.Client, client.ObjectKey{Namespace: claim.Namespace, Name: name}, &ipamclusterv1.IPAddress{})
		switch {
		case err != nil:
			return Answer{}, err
		case address != nil && address.Spec.ClaimRef.Name != "" && address.Spec.ClaimRef.Name != claim.Name:
			return Answer{Problem: fmt.Sprintf("%s assigned IPAddress %[4]s of %[5]s to %[2]s %[3]s: delete the claim, or repair the pool's provider",
				title(pool), claimKind, claim.Name, name, address.Spec.ClaimRef.Name)}, nil
		case address != nil:
			return Answer{Address: &address.Spec}, nil
		}
	}
	if problem := refusal(claim, title(pool)); problem != "" {
		return Answer{Problem: problem}, nil
	}
	return o.overdue(ctx, claim, pool)
}

// overdue returns the result for a claim without a response, with the reason that can be derived from the pool.
func (o Owner) overdue(ctx context.Context, claim *ipamclusterv1.IPAddressClaim, pool ipamclusterv1.IPPoolReference) (Answer, error) {
	problem, tooEarly := IsOverdue(claim, claimKind, title(pool), time.Now())
	if problem == "" || o.Pools == nil {
		return Answer{Problem: problem, RetryAfter: tooEarly}, nil
	}
	why, err := o.diagnose(ctx, pool)
	return Answer{Problem: cmp.Or(why, problem), RetryAfter: Timeout}, err
}

// refusal returns the reason that the pool's provider reports for a claim without an address. Only the provider can interpret its
// pools.
func refusal(claim *ipamclusterv1.IPAddressClaim, pool string) string {
	ready := conditions.Get(claim, ipamclusterv1.IPAddressClaimReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf("%s allocates no address: %s: %s", pool, ready.Reason, ready.Message)
}

// ReleaseAll releases all addresses of the owner. It needs the index OwnerIndex of IPAddressClaims.
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

// ReleaseNamed releases what was claimed under these names. It reads the claims with the given reader, which should be the API
// server: a cache may not show a recent claim yet, and no other controller would release it after the owner is deleted.
func (o Owner) ReleaseNamed(ctx context.Context, live client.Reader, names ...string) error {
	for _, name := range names {
		claim, err := o.find(ctx, live, name)
		if err != nil {
			return err
		}
		if claim == nil || !o.owns(claim) {
			continue
		}
		if err := o.Release(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}

// OfAddress returns a map function for IPAddresses that enqueues what ofClaim returns for the address's claim.
func OfAddress(reader client.Reader, ofClaim handler.MapFunc) handler.MapFunc {
	return func(ctx context.Context, address client.Object) []ctrl.Request {
		claim := &ipamclusterv1.IPAddressClaim{}
		key := client.ObjectKey{Namespace: address.GetNamespace(), Name: address.(*ipamclusterv1.IPAddress).Spec.ClaimRef.Name}
		if err := reader.Get(ctx, key, claim); err != nil {
			return nil // the event of the claim follows
		}
		return ofClaim(ctx, claim)
	}
}
