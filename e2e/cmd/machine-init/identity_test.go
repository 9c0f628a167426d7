// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestIdentityIsLearntOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusNotFound) // Not known yet.
			return
		}
		_, _ = fmt.Fprint(w, "a-uuid")
	}))
	file := filepath.Join(t.TempDir(), "uuid")
	g.Expect(identity(t.Context(), file, server.URL)).To(Equal("a-uuid"))
	server.Close()
	g.Expect(identity(t.Context(), file, server.URL)).To(Equal("a-uuid"))
	g.Expect(asked).To(Equal(2))
	g.Expect(identity(t.Context(), file, "")).To(BeEmpty(), "nobody to ask")
}
