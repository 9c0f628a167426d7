// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPathTemplate(t *testing.T) {
	g := NewWithT(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://host/rest/com/vmware/cis/tagging/tag/id:urn:vmomi:x:GLOBAL", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pathTemplate(req.URL.Path)).To(Equal("/rest/com/vmware/cis/tagging/tag/id:{id}"))
}
