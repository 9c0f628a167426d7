// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// poolKind is the kind of a pool for which the template does not set one.
const poolKind = "IPPool"

// Pool names an address pool in the machine's namespace.
type Pool struct {
	APIGroup string
	Kind     string
	Name     string
}

// Metal3 reports whether the pool is a metal3 IPPool. Addresses of all other pools are claimed with Cluster API's IPAddressClaim.
func (p Pool) Metal3() bool {
	return p.APIGroup == ipamv1.GroupVersion.Group && p.Kind == poolKind
}

func (p Pool) String() string {
	return p.Kind + " " + p.Name
}

// source is the way in which a field of a template names a pool. The first that is set is used: an annotation with the name, a
// reference, or the name of a metal3 pool.
type source struct {
	path       *field.Path
	annotation *infrav1.FromPoolAnnotation
	ref        *infrav1.IPPoolReference
	name       string
}

// empty reports whether the field names no pool.
func (s source) empty() bool {
	return s.annotation == nil && ptr.Deref(s.ref, infrav1.IPPoolReference{}).Name == "" && s.name == ""
}

// pool returns the pool that the field names.
func (s source) pool(in *Input) (Pool, error) {
	pool := Pool{APIGroup: ipamv1.GroupVersion.Group, Kind: poolKind, Name: s.name}
	switch {
	case s.annotation != nil:
		name, err := in.annotation(s.annotation.Object, s.annotation.Annotation)
		if err != nil {
			return Pool{}, at(s.path.Child("fromPoolAnnotation"), err)
		}
		pool.Name = name
	case s.ref != nil && s.ref.Name != "":
		pool.Name = s.ref.Name
		pool.APIGroup = cmp.Or(s.ref.APIGroup, pool.APIGroup)
		pool.Kind = cmp.Or(s.ref.Kind, pool.Kind)
	case s.name == "":
		return Pool{}, at(s.path, errors.New("no pool is named"))
	}
	return pool, nil
}

// address returns the machine's address from the pool that the field names.
func (s source) address(in *Input) (Address, error) {
	pool, err := s.pool(in)
	if err != nil {
		return Address{}, err
	}
	address, ok := in.Addresses[pool.Name]
	if !ok {
		return Address{}, at(s.path, fmt.Errorf("no address was allocated from %s", pool))
	}
	return address, nil
}

// Pools returns the pools that the template needs an address from, sorted by name. Claims are named after their pools, so two
// pools of the same name are an error.
func Pools(spec *infrav1.Metal3DataTemplateSpec, in *Input) ([]Pool, error) {
	byName := map[string]Pool{}
	for _, s := range append(metaDataSources(spec.MetaData), networkSources(spec.NetworkData)...) {
		pool, err := s.pool(in)
		if err != nil {
			return nil, err
		}
		if other, ok := byName[pool.Name]; ok && other != pool {
			return nil, at(s.path, fmt.Errorf("%s of %s and %s of %s cannot be used by one template: rename one of the pools",
				pool, pool.APIGroup, other, other.APIGroup))
		}
		byName[pool.Name] = pool
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// metaDataSources returns the fields of metaData that name pools.
func metaDataSources(m *infrav1.MetaData) []source {
	if m == nil {
		return nil
	}
	var sources []source
	for _, list := range fromPools(m) {
		for i := range list.entries {
			sources = append(sources, list.source(i))
		}
	}
	return sources
}

// networkSources returns the fields of networkData that name pools. A network with an address from a pool must name one.
func networkSources(n *infrav1.NetworkData) []source {
	if n == nil {
		return nil
	}
	var required, optional []source
	for _, network := range networks(n) {
		if network.static {
			required = append(required, network.pool)
		}
		for _, route := range network.routes {
			if route.gateway == "" {
				optional = append(optional, route.gatewayPool)
			}
			optional = append(optional, route.services.pool)
		}
	}
	optional = append(optional, services(n).pool)
	return append(required, slices.DeleteFunc(optional, source.empty)...)
}
