// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/ipamclaim"
)

// ownedByVM indexes claims by the VSphereVM that owns them.
func ownedByVM() client.IndexerFunc {
	return ipamclaim.ByOwner(infrav1.GroupVersion.WithKind(vmKind).GroupKind())
}

// addressIndex finds IPAddresses by pool and address.
const addressIndex = "ofPool"

func ofPool(o client.Object) []string {
	return []string{poolKey(&o.(*ipamclusterv1.IPAddress).Spec)}
}

func poolKey(spec *ipamclusterv1.IPAddressSpec) string {
	return strings.Join([]string{spec.PoolRef.APIGroup, spec.PoolRef.Kind, spec.PoolRef.Name, spec.Address}, "/")
}

// allocatedBefore returns the claim to which the pool allocated the same address earlier, or "". If both were allocated within one
// second, neither counts as the first.
func (r *Reconciler) allocatedBefore(ctx context.Context, namespace, claim string, address *ipamclusterv1.IPAddressSpec) (string, error) {
	same := &ipamclusterv1.IPAddressList{}
	if err := r.Client.List(ctx, same, client.InNamespace(namespace), client.MatchingFields{addressIndex: poolKey(address)}); err != nil {
		return "", fmt.Errorf("listing IPAddresses %s: %w", address.Address, err)
	}
	own := slices.IndexFunc(same.Items, func(a ipamclusterv1.IPAddress) bool { return a.Spec.ClaimRef.Name == claim })
	for i := range same.Items {
		if own >= 0 && i != own && !same.Items[i].CreationTimestamp.After(same.Items[own].CreationTimestamp.Time) {
			return same.Items[i].Spec.ClaimRef.Name, nil
		}
	}
	return "", nil
}

// claimOfVM matches the names of claims of VSphereVMs, which begin with the VSphereVM's name.
var claimOfVM = regexp.MustCompile(`^(.+)-\d+-\d+$`)

// vmsOfClaim returns the VSphereVM that owns a claim, and the one that needs a claim with that name and waits for the deletion
// of this one.
func (r *Reconciler) vmsOfClaim(_ context.Context, claim client.Object) []reconcile.Request {
	names := map[string]bool{ipamclaim.OwnerOf(claim, infrav1.GroupVersion.WithKind(vmKind).GroupKind()): true}
	if parts := claimOfVM.FindStringSubmatch(claim.GetName()); parts != nil {
		names[parts[1]] = true
	}
	delete(names, "")
	requests := make([]reconcile.Request, 0, len(names))
	for name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: claim.GetNamespace(), Name: name}})
	}
	return requests
}
