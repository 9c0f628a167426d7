// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestASlowNeighbourHasAnEffectWhereItCostsMoreThanRunsDiffer(t *testing.T) {
	for name, tc := range map[string]struct {
		alone, beside []float64
		verdict       string
	}{
		"none":                  {[]float64{2, 2, 9}, []float64{2.1, 2.6, 2.7}, ""},
		"all that is allowed":   {[]float64{10}, []float64{10*noEffect + noise}, ""},
		"more than is allowed":  {[]float64{10}, []float64{10*noEffect + noise + 0.01}, Missed},
		"some":                  {[]float64{2, 2, 9}, []float64{2.1, 2.8, 2.9}, Missed},
		"not measured alone":    {nil, []float64{9}, ""},
		"not measured together": {[]float64{2}, nil, ""},
	} {
		rows := (&Neighbours{Machines: 20, Delay: 2, Alone: tc.alone, Beside: tc.beside}).Rows("a Harvester", None, None)
		NewWithT(t).Expect(rows[3].Verdict).To(Equal(tc.verdict), name)
	}
}
