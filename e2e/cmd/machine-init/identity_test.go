// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestIdentityIsReadOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusNotFound) // Unknown so far.
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

func TestHostnameSurvivesPowerLoss(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	from, to := filepath.Join(t.TempDir(), "previous-hostname"), filepath.Join(t.TempDir(), "hostname")
	g.Expect(os.WriteFile(to, []byte("container\n"), 0o600)).To(Succeed())
	g.Expect(rename(from, to)).To(Succeed())
	g.Expect(os.ReadFile(to)).To(BeEquivalentTo("container\n"), "cloud-init has not named it yet")
	g.Expect(os.WriteFile(from, []byte("node-1\n"), 0o600)).To(Succeed())
	g.Expect(rename(from, to)).To(Succeed())
	g.Expect(os.ReadFile(to)).To(BeEquivalentTo("node-1\n"))
}
