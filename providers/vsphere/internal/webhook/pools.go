// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// validatePools requires fully qualified pools. In v1beta1 the group of a pool could be empty, which matched no IPAM provider.
func validatePools(pools []infrav1.IPPoolReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, pool := range pools {
		at := path.Index(i)
		for _, each := range []struct{ name, value, example string }{
			{"apiGroup", pool.APIGroup, "must be the API group of the pool, for example ipam.cluster.x-k8s.io"},
			{"kind", pool.Kind, "must be the kind of the pool, for example InClusterIPPool"},
			{"name", pool.Name, "must be the name of the pool"},
		} {
			if each.value == "" {
				errs = append(errs, field.Required(at.Child(each.name), each.example))
			}
		}
	}
	return errs
}
