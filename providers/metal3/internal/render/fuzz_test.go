// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

// FuzzTemplate renders a Metal3DataTemplate with an address from another provider's pool. The API server validates the former in
// part, the latter not at all.
func FuzzTemplate(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*"+templateSuffix))
	if err != nil || len(files) == 0 {
		f.Fatal("reading templates: ", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "10.0.0.5", int32(22), "10.0.0.1", "10.0.0.53")
	}
	f.Add([]byte(`{metaData: null, networkData: {networks: {ipv6: [{id: a, fromPoolRef: {}, fromPoolAnnotation: {object: x}}]}}}`), "fe80::1%eth0", int32(-1), "\n", "a: b")
	f.Add([]byte(`networkData: {links: {bonds: [{id: a, parameters: [{name: x, value: {b: [1e999, null]}}], macAddress: {}}]}}`), "", int32(129), "", "")
	f.Fuzz(func(t *testing.T, text []byte, address string, prefix int32, gateway, server string) {
		spec := &infrav1.Metal3DataTemplateSpec{}
		if yaml.Unmarshal(text, spec) != nil {
			return
		}
		in := input()
		in.Addresses["rack-4"] = render.Address{Address: address, Prefix: prefix, Gateway: gateway, DNSServers: []string{server}}
		pools, err := render.Pools(spec, in)
		if err == nil {
			// Rendering needs no other addresses.
			all := in.Addresses
			in.Addresses = map[string]render.Address{}
			for _, pool := range pools {
				in.Addresses[pool.Name] = all[pool.Name]
			}
		}
		if spec.MetaData != nil {
			metaData(t, spec.MetaData, in, err == nil)
		}
		if spec.NetworkData != nil {
			networkData(t, spec.NetworkData, in, err == nil)
		}
	})
}

// metaData renders metaData with known or unknown pools.
func metaData(t *testing.T, spec *infrav1.MetaData, in *render.Input, known bool) {
	t.Helper()
	data, err := render.MetaData(spec, in)
	if err != nil {
		if strings.Contains(err.Error(), "no address was allocated from") && known {
			t.Fatal(err)
		}
		return
	}
	got := map[string]string{}
	if err := yaml.UnmarshalStrict(data, &got); err != nil || got["providerid"] != "metal/h-1/m3m-1" {
		t.Fatalf("metaData %q: %v", data, err)
	}
	if again, err := render.MetaData(spec, in); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("metaData %q, and then %q: %v", data, again, err)
	}
}

func networkData(t *testing.T, spec *infrav1.NetworkData, in *render.Input, known bool) {
	t.Helper()
	data, err := render.NetworkData(spec, in)
	if err != nil {
		if strings.Contains(err.Error(), "no address was allocated from") && known {
			t.Fatal(err)
		}
		return
	}
	got := map[string][]map[string]any{}
	if err := yaml.UnmarshalStrict(data, &got); err != nil || len(got) != 3 {
		t.Fatalf("networkData %q: %v", data, err)
	}
	links := len(spec.Links.Ethernets) + len(spec.Links.Bonds) + len(spec.Links.Vlans) + len(spec.Links.Bridges)
	if len(got["links"]) != links {
		t.Fatalf("networkData %q of %d links", data, links)
	}
	for _, service := range got["services"] {
		if len(service) != 2 || service["type"] != "dns" {
			t.Fatalf("networkData %q", data)
		}
	}
	if again, err := render.NetworkData(spec, in); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("networkData %q, and then %q: %v", data, again, err)
	}
}
