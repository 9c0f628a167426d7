// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/text"
)

// providerIDKey is the metaData entry that the kubelet's provider ID is made from. Templates cannot override it, because Nodes
// are found by it.
const providerIDKey = "providerid"

// MetaData renders a flat map of strings in YAML. If two entries share a key, the one filled in later wins.
func MetaData(spec *infrav1.MetaData, in *Input) ([]byte, error) {
	out := map[string]string{}
	for _, fill := range []func(*infrav1.MetaData, *Input, map[string]string) error{
		hostInterfaces, poolValues, numbers, names, labels, annotations,
	} {
		if err := fill(spec, in, out); err != nil {
			return nil, err
		}
	}
	for _, entry := range spec.Strings {
		out[entry.Key] = entry.Value
	}
	out[providerIDKey] = strings.Join([]string{in.Namespace, in.Host.Name, in.Metal3Machine.Name}, "/")
	data, err := text.YAML(out)
	if err != nil {
		return nil, fmt.Errorf("marshalling metaData: %w", err)
	}
	return data, nil
}

func metaDataPath(list string, i int) *field.Path {
	return field.NewPath("spec", "metaData", list).Index(i)
}

func hostInterfaces(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for i, entry := range spec.FromHostInterfaces {
		path := metaDataPath("fromHostInterfaces", i)
		if entry.FromBootMAC {
			if in.Host.BootMAC == "" {
				return at(path.Child("fromBootMAC"), fmt.Errorf("BareMetalHost %s has no spec.bootMACAddress: set it", in.Host.Name))
			}
			out[entry.Key] = in.Host.BootMAC
			continue
		}
		mac, err := in.interfaceMAC(entry.Interface)
		if err != nil {
			return at(path.Child("interface"), err)
		}
		out[entry.Key] = mac
	}
	return nil
}

// poolList is a metaData list whose entries take a value from a pool.
type poolList struct {
	name    string
	entries []infrav1.FromPool
	value   func(Address) string
}

func fromPools(spec *infrav1.MetaData) []poolList {
	return []poolList{
		{"ipAddressesFromPool", spec.IPAddressesFromPool, func(a Address) string { return a.Address }},
		{"prefixesFromPool", spec.PrefixesFromPool, func(a Address) string { return strconv.Itoa(int(a.Prefix)) }},
		{"gatewaysFromPool", spec.GatewaysFromPool, func(a Address) string { return a.Gateway }},
		// The entries of a map of strings cannot hold a list.
		{"dnsServersFromPool", spec.DNSServersFromPool, func(a Address) string { return strings.Join(a.DNSServers, ",") }},
	}
}

func (l poolList) source(i int) source {
	return source{path: metaDataPath(l.name, i), ref: &l.entries[i].IPPoolReference}
}

func poolValues(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for _, list := range fromPools(spec) {
		for i, entry := range list.entries {
			address, err := list.source(i).address(in)
			if err != nil {
				return err
			}
			out[entry.Key] = list.value(address)
		}
	}
	return nil
}

func numbers(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for _, entry := range spec.Indexes {
		number := int64(entry.Offset) + int64(in.Index)*int64(cmp.Or(ptr.Deref(entry.Step, 0), 1))
		out[entry.Key] = entry.Prefix + strconv.FormatInt(number, 10) + entry.Suffix
	}
	return nil
}

func names(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for _, entry := range spec.Namespaces {
		out[entry.Key] = in.Namespace
	}
	for i, entry := range spec.ObjectNames {
		object, _, err := in.object(entry.Object)
		if err != nil {
			return at(metaDataPath("objectNames", i), err)
		}
		out[entry.Key] = object.Name
	}
	return nil
}

// labels renders a missing label as an empty string.
func labels(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for i, entry := range spec.FromLabels {
		object, _, err := in.object(entry.Object)
		if err != nil {
			return at(metaDataPath("fromLabels", i), err)
		}
		out[entry.Key] = object.Labels[entry.Label]
	}
	return nil
}

// annotations renders a missing annotation as an empty string.
func annotations(spec *infrav1.MetaData, in *Input, out map[string]string) error {
	for i, entry := range spec.FromAnnotations {
		object, _, err := in.object(entry.Object)
		if err != nil {
			return at(metaDataPath("fromAnnotations", i), err)
		}
		out[entry.Key] = object.Annotations[entry.Annotation]
	}
	return nil
}
