// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package binaries

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestUpstreamProviderContract(t *testing.T) {
	g := NewWithT(t)
	for version, folder := range map[string]string{"": "e2e/build/capv", "v1.16.1": "e2e/build/capv-v1beta2"} {
		r, err := (&Builder{CAPV: version}).recipe(UpstreamVSphere)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Folder).To(Equal(folder), version)
	}
}

func TestOtherClusterAPIVersionIsBuiltAsPublished(t *testing.T) {
	g := NewWithT(t)
	for _, test := range []struct{ version, pkg, folder string }{
		{"", "sigs.k8s.io/cluster-api/core", clusterAPIBuildFolder},
		{"v1.13.6", "sigs.k8s.io/cluster-api", ""},
		{"v1.14.1", "sigs.k8s.io/cluster-api/core", ""},
	} {
		r, err := (&Builder{CAPI: test.version}).recipe(CAPICore)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Package).To(Equal(test.pkg), test.version)
		g.Expect(r.Folder).To(Equal(test.folder), test.version)
		g.Expect(r.Version).To(Equal(test.version))
	}
}
