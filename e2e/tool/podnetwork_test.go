// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPodNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	content := PodNetwork("10.244.0.0/24")
	g.Expect(json.Valid([]byte(content))).To(BeTrue())
	g.Expect(content).To(ContainSubstring(`"ranges":[[{"subnet":"10.244.0.0/24"}]]`))
}
