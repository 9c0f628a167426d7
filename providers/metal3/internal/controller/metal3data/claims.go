// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/ipamclaim"
)

const dataKind = "Metal3Data"

// claims returns the address claims of both APIs that the data owns. user may be nil for data that is being deleted.
func (r *Reconciler) claims(data *infrav1.Metal3Data, user func(context.Context) (string, error)) ipamclaim.Owner {
	return ipamclaim.Owner{
		Client: r.Client, Repeats: &r.claimed, Object: data, Kind: infrav1.GroupVersion.WithKind(dataKind), Finalizer: infrav1.DataFinalizer, User: user,
	}
}

// owner returns the claims of the data. Its addresses are in use as soon as they are rendered.
func (r *Reconciler) owner(s *scope) ipamclaim.Owner {
	return r.claims(s.data, func(ctx context.Context) (string, error) {
		used, err := r.rendered(ctx, s)
		if err != nil || !used {
			return "", err
		}
		return "BareMetalHost " + s.host.Name, nil
	})
}

// claimName returns the name of a claim that belongs to owner, which is the data or its host.
func claimName(owner, pool string) string {
	return owner + "-" + pool
}

// rendered reports whether addresses are stored in a Secret of the data, or in a Secret that the host refers to.
func (r *Reconciler) rendered(ctx context.Context, s *scope) (bool, error) {
	for _, name := range secretNames(s.data) {
		for _, given := range []*corev1.SecretReference{s.host.Spec.MetaData, s.host.Spec.NetworkData} {
			if given != nil && given.Name == name {
				return true, nil
			}
		}
		secret, err := r.secret(ctx, s.data.Namespace, name)
		if err != nil || secret != nil && !foreign(secret, s.data) {
			return true, err
		}
	}
	return false, nil
}
