// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for _, c := range []struct{ method, path, want string }{
		{http.MethodGet, "/version", "get"},
		{http.MethodGet, "/apis/kubevirt.io/v1", "get"},
		{http.MethodGet, "/api/v1/nodes", "list nodes"},
		{http.MethodGet, "/api/v1/nodes?watch=true", "watch nodes"},
		{http.MethodGet, "/api/v1/nodes/host-1", "get nodes host-1"},
		{http.MethodGet, "/api/v1/namespaces", "list namespaces"},
		{http.MethodGet, "/api/v1/namespaces/one", "get namespaces one"},
		{http.MethodPut, "/api/v1/namespaces/one/status", "update namespaces one status"},
		{http.MethodGet, "/api/v1/namespaces/one/pods", "list pods in one"},
		{http.MethodPost, "/api/v1/namespaces/one/pods/p/binding", "create pods p binding in one"},
		{http.MethodPost, "/apis/kubevirt.io/v1/namespaces/one/virtualmachines", "create virtualmachines in one"},
		{http.MethodPatch, "/apis/kubevirt.io/v1/namespaces/one/virtualmachines/vm", "patch virtualmachines vm in one"},
		{http.MethodDelete, "/apis/kubevirt.io/v1/namespaces/one/virtualmachines/vm", "delete virtualmachines vm in one"},
		{http.MethodDelete, "/apis/kubevirt.io/v1/namespaces/one/virtualmachines", "deletecollection virtualmachines in one"},
		{http.MethodGet, "/apis/loadbalancer.harvesterhci.io/v1beta1/ippools/pool", "get ippools pool"},
	} {
		r := parse(httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		got := strings.Join(strings.Fields(strings.Join([]string{r.Verb, r.Resource, r.Name, r.Subresource}, " ")), " ")
		if r.Namespace != "" {
			got += " in " + r.Namespace
		}
		if got != c.want {
			t.Errorf("%s %s is %q, want %q", c.method, c.path, got, c.want)
		}
	}
}
