// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipamclaim

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// diagnose returns why a pool gives no addresses although its provider reports nothing; "" if that cannot be determined.
func (o Owner) diagnose(ctx context.Context, pool ipamclusterv1.IPPoolReference) (string, error) {
	mapping, err := o.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: pool.APIGroup, Kind: pool.Kind})
	if meta.IsNoMatchError(err) {
		return fmt.Sprintf("no API is installed for %s of %s: install the IPAM provider of this kind, or name another pool", title(pool), pool.APIGroup), nil
	}
	if err != nil {
		return "", fmt.Errorf("finding the API of %s: %w", title(pool), err)
	}
	found, key := &unstructured.Unstructured{}, client.ObjectKey{Name: pool.Name}
	found.SetGroupVersionKind(mapping.GroupVersionKind)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		key.Namespace = o.Object.GetNamespace()
	}
	switch err := o.Pools.Get(ctx, key, found); {
	case apierrors.IsNotFound(err):
		return title(pool) + " does not exist: create it, or name another pool", nil
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", title(pool), err)
	}
	if free, ok, err := unstructured.NestedInt64(found.Object, "status", "ipAddresses", "free"); err == nil && ok && free <= 0 {
		return title(pool) + " has no free address: enlarge it, or delete Machines that use one", nil
	}
	return "", nil
}
