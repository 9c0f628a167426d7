// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSource(t *testing.T) {
	t.Parallel()
	silent, answering := func() error { return errors.New("silence") }, func() error { return nil }
	for _, tc := range []struct {
		source  Source
		answers func() error
		want    bool
	}{
		{SourceAuto, answering, true},
		{SourceAuto, silent, false},
		{"", silent, false},
		{SourcePublished, silent, true},
		{SourceBuild, answering, false},
	} {
		NewWithT(t).Expect(tc.source.Published(tc.answers)).To(Equal(tc.want), "%q", tc.source)
	}
	_, err := ParseSource("elsewhere")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("elsewhere")))
}

func TestAskRegistryAcceptsUnauthorized(t *testing.T) {
	t.Parallel()
	for status, works := range map[int]bool{
		http.StatusOK: true, http.StatusUnauthorized: true, http.StatusForbidden: false, http.StatusBadGateway: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		err := AskRegistry(t.Context(), server.URL)
		server.Close()
		NewWithT(t).Expect(err == nil).To(Equal(works), "%d: %v", status, err)
	}
	NewWithT(t).Expect(AskRegistry(t.Context(), "http://127.0.0.1:1")).NotTo(Succeed())
}
