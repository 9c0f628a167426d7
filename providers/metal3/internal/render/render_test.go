// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

var update = flag.Bool("update", false, "overwrite the golden files")

const templateSuffix = ".template.yaml"

// input is the machine of all golden files.
func input() *render.Input {
	return &render.Input{
		Namespace: "metal",
		Index:     3,
		Machine:   render.Object{Name: "m-1", Labels: map[string]string{"pool": "workers"}},
		Metal3Machine: render.Object{
			Name: "m3m-1", Annotations: map[string]string{"example.com/owner": "ops"},
		},
		Host: render.Host{
			Object: render.Object{
				Name: "h-1", Labels: map[string]string{"rack": "r7"},
				Annotations: map[string]string{"example.com/pool": "annotated", "example.com/mac": "00:00:00:00:00:0f", "example.com/no-mac": "eno1"},
			},
			BootMAC:    "00:00:00:00:00:b0",
			Interfaces: []render.Interface{{Name: "eno1", MAC: "00:00:00:00:00:01"}, {Name: "eno2", MAC: "00:00:00:00:00:02"}},
		},
		Addresses: map[string]render.Address{
			"rack-4":    {Address: "10.0.0.5", Prefix: 22, Gateway: "10.0.0.1", DNSServers: []string{"10.0.0.53", "10.0.1.53"}},
			"rack-6":    {Address: "2001:db8::5", Prefix: 64, Gateway: "2001:db8::1"},
			"annotated": {Address: "192.168.7.5", Prefix: 31, Gateway: "192.168.7.4"},
			"bare":      {Address: "10.9.0.5", Prefix: 32},
		},
	}
}

func template(t *testing.T, text []byte) *infrav1.Metal3DataTemplateSpec {
	t.Helper()
	spec := &infrav1.Metal3DataTemplateSpec{}
	NewWithT(t).Expect(yaml.UnmarshalStrict(text, spec)).To(Succeed())
	return spec
}

// The golden files are the input of cloud-init; check every change of them against its documentation, and against the output of
// upstream.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*"+templateSuffix))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), templateSuffix), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			spec := template(t, text)
			if spec.MetaData != nil {
				data, err := render.MetaData(spec.MetaData, input())
				g.Expect(err).NotTo(HaveOccurred())
				compare(g, strings.TrimSuffix(file, templateSuffix)+".metadata.yaml", data)
			}
			if spec.NetworkData != nil {
				data, err := render.NetworkData(spec.NetworkData, input())
				g.Expect(err).NotTo(HaveOccurred())
				compare(g, strings.TrimSuffix(file, templateSuffix)+".networkdata.yaml", data)
			}
		})
	}
}

func compare(g *WithT, golden string, data []byte) {
	if *update {
		g.Expect(os.WriteFile(golden, data, 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(golden)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data)).To(Equal(string(want)))
}
