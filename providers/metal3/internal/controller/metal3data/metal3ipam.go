// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/reconcile"
)

const ipClaimKind = "IPClaim"

// installedCheck is the interval at which data that needs the IP address manager checks for it, because its installation is not
// an event.
const installedCheck = time.Minute

// metal3Pools serves metal3's own IPPools. Their API is not part of Cluster API and may not be installed.
type metal3Pools struct {
	*Reconciler
	watch *lateWatch
}

func (m metal3Pools) Serves(pool render.Pool) bool {
	return pool.Metal3()
}

func (m metal3Pools) Address(ctx context.Context, s *scope, pool render.Pool) (*render.Address, string, error) {
	if installed, err := m.watch.start(ctx); err != nil {
		return nil, "", err
	} else if !installed {
		s.retryAfter = installedCheck
		return nil, "the API of " + pool.String() + " is not installed: install the metal3 IP address manager, or use another kind of pool", nil
	}
	claim, err := m.findClaim(ctx, s, pool)
	if err != nil {
		return nil, "", err
	}
	if claim == nil {
		return nil, "", m.claim(ctx, s, pool)
	}
	if problem, err := m.owner(s).Unusable(ctx, claim, ipClaimKind); err != nil || problem != "" {
		return nil, problem, err
	}
	if err := m.owner(s).Adopt(ctx, claim); err != nil {
		return nil, "", err
	}
	if claim.Status.Address == nil {
		problem, err := m.claimProblem(ctx, s, claim, pool)
		return nil, problem, err
	}
	address := &ipamv1.IPAddress{}
	if found, err := m.find(ctx, s.data, claim.Status.Address.Name, address); err != nil || !found {
		return nil, "", err
	}
	return newAddress(&address.Spec), "", nil
}

func newAddress(spec *ipamv1.IPAddressSpec) *render.Address {
	address := &render.Address{
		Address: string(spec.Address), Prefix: int32(spec.Prefix), //nolint:gosec // 128 at most
		Gateway: string(ptr.Deref(spec.Gateway, "")),
	}
	for _, server := range spec.DNSServers {
		address.DNSServers = append(address.DNSServers, string(server))
	}
	return address
}

// findClaim returns the claim under either name, because the configuration may have changed since it was created.
func (m metal3Pools) findClaim(ctx context.Context, s *scope, pool render.Pool) (*ipamv1.IPClaim, error) {
	for _, owner := range []string{s.data.Name, s.host.Name} {
		claim := &ipamv1.IPClaim{}
		if found, err := m.find(ctx, s.data, claimName(owner, pool.Name), claim); err != nil || found {
			return claim, err
		}
	}
	return nil, nil
}

func (m metal3Pools) claim(ctx context.Context, s *scope, pool render.Pool) error {
	claim := &ipamv1.IPClaim{
		ObjectMeta: m.owner(s).Meta(claimName(s.data.Name, pool.Name)),
		Spec:       ipamv1.IPClaimSpec{Pool: corev1.ObjectReference{Namespace: s.data.Namespace, Name: pool.Name}},
	}
	if m.NameClaimsByHost {
		claim.Name = claimName(s.host.Name, pool.Name)
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		claim.Labels[infrav1.DataNameLabel], claim.Labels[infrav1.PoolNameLabel] = s.data.Name, pool.Name
	}
	return withReason(infrav1.Metal3DataAddressClaimRefusedReason, reconcile.Create(ctx, m.Client, claim, ipClaimKind))
}

// claimProblem returns why the claim has no address: the error of the IP address manager, or a missing pool.
func (m metal3Pools) claimProblem(ctx context.Context, s *scope, claim *ipamv1.IPClaim, pool render.Pool) (string, error) {
	if claim.Status.ErrorMessage != nil {
		return fmt.Sprintf("%s does not allocate an address: %s", pool, *claim.Status.ErrorMessage), nil
	}
	found, err := m.find(ctx, s.data, pool.Name, newPoolMetadata())
	switch {
	case err != nil:
		return "", err
	case found:
		problem, tooEarly := ipamclaim.IsOverdue(claim, ipClaimKind, pool.String(), time.Now())
		s.requeueAfter(tooEarly)
		return problem, nil
	}
	return fmt.Sprintf("%s, which Metal3DataTemplate %s refers to, does not exist: create it", pool, s.template.Name), nil
}

// newPoolMetadata returns an object to read the metadata of a pool. Only its existence matters.
func newPoolMetadata() *metav1.PartialObjectMetadata {
	pool := &metav1.PartialObjectMetadata{}
	pool.SetGroupVersionKind(ipamv1.GroupVersion.WithKind("IPPool"))
	return pool
}

func (m metal3Pools) Release(ctx context.Context, data *infrav1.Metal3Data) error {
	if installed, err := m.watch.start(ctx); err != nil || !installed {
		return err
	}
	owner, claims := m.claims(data, nil), &ipamv1.IPClaimList{}
	if err := m.Client.List(ctx, claims, client.InNamespace(data.Namespace), client.MatchingFields{ipamclaim.OwnerIndex: data.Name}); err != nil {
		return fmt.Errorf("listing IPClaims of %s: %w", data.Name, err)
	}
	for i := range claims.Items {
		if err := owner.Release(ctx, &claims.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
