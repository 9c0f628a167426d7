// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSetFault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/faults/weather" {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	g.Expect(setFault(t.Context(), server.URL, "down", true)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "lost-datastores/dc-1/datastore-a", false)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "lost-hosts/zone-a", true)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "weather", true)).To(MatchError(ContainSubstring("no such thing")))
	g.Expect(got).To(Equal([]string{
		"PUT /faults/down", "DELETE /faults/lost-datastores/dc-1/datastore-a", "PUT /faults/lost-hosts/zone-a", "PUT /faults/weather",
	}))
}
