// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Datastores returns the datastores on which a virtual machine of a placement can be created: the named one, or all that a host
// of the placement can use. Without an error there is at least one.
func Datastores(ix *Index, p Placement) ([]Ref, error) {
	ix.RLock()
	defer ix.RUnlock()
	r, err := resolverOf(ix, p)
	if err != nil {
		return nil, err
	}
	r.pool(p)
	r.narrow(p.HostGroup)
	if p.Datastore != "" {
		named := r.datastore(p.Datastore)
		return []Ref{named}, errors.Join(r.errs...)
	}
	var usable []Ref
	_, err = r.find(KindDatastore, "*", func(candidate Ref) string {
		reason := r.unusable(candidate)
		if reason == "" {
			usable = append(usable, candidate)
		}
		return reason
	})
	if err != nil && !errors.Is(err, vcerrors.ErrAmbiguous) { // several datastores are fine here
		r.errs = append(r.errs, err)
	}
	return usable, errors.Join(r.errs...)
}
