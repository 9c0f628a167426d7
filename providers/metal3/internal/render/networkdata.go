// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/text"
)

// entry is a link, a network, a route or a service with OpenStack's keys.
type entry map[string]any

// NetworkData renders network data in OpenStack's format, as YAML. cloud-init reads it from the machine's config drive.
func NetworkData(spec *infrav1.NetworkData, in *Input) ([]byte, error) {
	links, err := renderLinks(&spec.Links, in)
	if err != nil {
		return nil, err
	}
	networks, err := renderNetworks(networks(spec), in)
	if err != nil {
		return nil, err
	}
	services, err := services(spec).render(in)
	if err != nil {
		return nil, err
	}
	data, err := text.YAML(map[string][]entry{"links": links, "networks": networks, "services": services})
	if err != nil {
		return nil, fmt.Errorf("marshalling networkData: %w", err)
	}
	return data, nil
}

func networkDataPath(name string) *field.Path {
	return field.NewPath("spec", "networkData", name)
}

// nameServers holds the DNS servers of the template, followed by those of a pool.
type nameServers struct {
	addresses []string
	pool      source
}

func newNameServers[T ~string](parent *field.Path, addresses []T, pool *string) nameServers {
	return nameServers{
		addresses: texts(addresses),
		pool:      source{path: parent.Child("dnsFromIPPool"), name: ptr.Deref(pool, "")},
	}
}

// services returns the DNS servers of the host, not those of a route.
func services(spec *infrav1.NetworkData) nameServers {
	return newNameServers(networkDataPath("services"), spec.Services.DNS, spec.Services.DNSFromIPPool)
}

func (n nameServers) render(in *Input) ([]entry, error) {
	addresses := n.addresses
	if !n.pool.empty() {
		pool, err := n.pool.address(in)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, pool.DNSServers...)
	}
	list := make([]entry, len(addresses))
	for i, address := range addresses {
		list[i] = entry{"type": "dns", "address": address}
	}
	return list, nil
}

// texts converts addresses to strings.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = string(item)
	}
	return out
}
