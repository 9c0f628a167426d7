// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// maxLength is the maximum length of a condition's message in the CRDs of all providers. The API server rejects the whole status
// if one is longer.
const maxLength = 32768

func TestStatusMessageLength(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("ü", 120)
	var groups []*group
	for range 20 {
		one := &group{name: long, short: []string{"no capacity for 3 more machines in: " + long}}
		for range 10 {
			one.moves = append(one.moves, failuredomain.Move{Machine: long, From: "a", To: "b"})
		}
		groups = append(groups, one)
	}
	s := &scope{cluster: &providertest.Cluster{}, state: Cluster{Domains: []failuredomain.Domain{{Name: "a"}}}}
	condition := s.condition(groups, nil)
	g.Expect(condition.Reason).To(Equal(faultlinev1.ReasonNotBalanced))
	g.Expect(len(condition.Message)).To(BeNumerically("<", maxLength))
	g.Expect(condition.Message).To(HaveSuffix("..."))
}
