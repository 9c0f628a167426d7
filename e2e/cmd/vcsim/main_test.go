// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/tool"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestIdentities(t *testing.T) {
	t.Parallel()
	handler := identities(func() []simulator.VM {
		return []simulator.VM{{UUID: "1", IPs: []string{"10.0.0.1"}}, {UUID: "2", IPs: []string{"fd00::2", "10.0.0.2"}}}
	})
	for address, want := range map[string]string{"10.0.0.1:5": "1", "10.0.0.2:5": "2", "[fd00::2]:5": "2", "10.0.0.3:5": ""} {
		g := NewWithT(t)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/uuid", http.NoBody)
		request.RemoteAddr = address
		recorder := httptest.NewRecorder()
		handler(recorder, request)
		if want == "" {
			g.Expect(recorder.Code).To(Equal(http.StatusNotFound))
			continue
		}
		g.Expect(recorder.Code).To(Equal(http.StatusOK))
		g.Expect(recorder.Body.String()).To(Equal(want), address)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := simulator.Start(t, simulator.ThreeZones())
	other := simulator.Start(t, simulator.ThreeZones())
	handler := controls(server, other)
	do := func(method, path string) int {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
		return recorder.Code
	}
	arguments := map[string]string{
		"failing": "/CloneVM_Task", "held": "/CloneVM_Task", "lost-answers": "/REST%20POST%20%2Frest%2Fcom", "overloaded": "/Login", "hanging": "/Login",
		"restarts": "/connections", "lost-hosts": "/zone-a", "full-hosts": "/zone-a/zone-a-host-1", "lost-datastores": "/dc-1/datastore-a",
		"hidden": "/" + simulator.TemplateName,
	}
	for _, fault := range simulator.Faults() {
		path, want := "/faults/"+fault.Name+arguments[fault.Name], http.StatusNoContent
		if fault.Set == nil {
			want = http.StatusUnprocessableEntity
		}
		g.Expect(do(http.MethodPut, path)).To(Equal(want), path)
		g.Expect(do(http.MethodDelete, path)).To(Equal(want), path)
	}
	g.Expect(do(http.MethodPut, "/faults/lost-datastores/dc-1/datastore-a?vcenter=2")).To(Equal(http.StatusNoContent))
	g.Expect(server.RestoreDatastore("dc-1", "datastore-a")).NotTo(Succeed(), "the first vCenter still has it")
	g.Expect(other.RestoreDatastore("dc-1", "datastore-a")).To(Succeed())
	g.Expect(do(http.MethodPut, "/faults/lost-datastores/dc-1/none")).To(Equal(http.StatusUnprocessableEntity))
	g.Expect(do(http.MethodPut, "/faults/down?vcenter=3")).To(Equal(http.StatusUnprocessableEntity))
	g.Expect(do(http.MethodPut, "/faults/weather")).To(Equal(http.StatusUnprocessableEntity))
}

func TestHelpListsFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range simulator.Faults() {
		NewWithT(t).Expect(faultWords()).To(ContainSubstring(fault.Usage()))
	}
}

func TestDescribeHasTemplateVariables(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"three-zones", "three-datacenters", "host-groups"} {
		g := NewWithT(t)
		chosen, datacenter, err := inventory(layout)
		g.Expect(err).NotTo(HaveOccurred())
		servers, err := simulator.NewSeveral(2, chosen, simulator.WithListen("127.0.0.1:0"))
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { simulator.CloseAll(servers) })
		var out strings.Builder
		g.Expect(tool.PrintVariables(&out, simulator.TemplateVariables(datacenter, servers...))).To(Succeed())
		g.Expect(out.String()).To(And(
			ContainSubstring("VSPHERE_SERVER="+servers[0].Host()+"\n"),
			ContainSubstring("VSPHERE_TLS_THUMBPRINT="+servers[0].Thumbprint()+"\n"),
			ContainSubstring("VSPHERE_SERVER_2="+servers[1].Host()+"\n"),
			ContainSubstring("VSPHERE_TLS_THUMBPRINT_2="+servers[1].Thumbprint()+"\n"),
			ContainSubstring("VSPHERE_DATACENTER="+datacenter+"\n"),
			HaveSuffix("VSPHERE_ZONE_C_NETWORK=network-c\n"), // the specs wait for it
		))
	}
	_, _, err := inventory("none")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("none")))
}
