// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestIdentities(t *testing.T) {
	t.Parallel()
	handler := identities(func() []simulator.VM {
		return []simulator.VM{{Name: "a", UUID: "1"}, {Name: "b", UUID: "2"}, {Name: "b", UUID: "3"}}
	})
	for name, want := range map[string]int{"a": http.StatusOK, "b": http.StatusConflict, "c": http.StatusNotFound} {
		g := NewWithT(t)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/uuid/"+name, http.NoBody))
		g.Expect(recorder.Code).To(Equal(want), name)
		if want == http.StatusOK {
			g.Expect(recorder.Body.String()).To(Equal("1"))
		}
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(reachable("127.0.0.1:1")).To(Equal("127.0.0.1:1"))
	_, err := reachable("nonsense")
	g.Expect(err).To(HaveOccurred())
}

func TestDescribeHasWhatTemplatesNeed(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"three-zones", "three-datacenters", "host-groups"} {
		g := NewWithT(t)
		chosen, err := inventory(layout)
		g.Expect(err).NotTo(HaveOccurred())
		server := simulator.Start(t, chosen.layout)
		var out strings.Builder
		g.Expect(describe(&out, server, chosen)).To(Succeed())
		g.Expect(out.String()).To(And(
			ContainSubstring("VSPHERE_SERVER="+server.Host()+"\n"),
			ContainSubstring("VSPHERE_TLS_THUMBPRINT="+server.Thumbprint()+"\n"),
			ContainSubstring("VSPHERE_DATACENTER="+chosen.datacenter+"\n"),
		))
	}
	_, err := inventory("none")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("none")))
}
