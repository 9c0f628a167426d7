// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package provider

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestUntil(t *testing.T) {
	broken := &Violation{Rule: "two in one"}
	for name, tc := range map[string]struct {
		answers []any // results of check, the last one repeated forever
		want    string
	}{
		"nothing is missing":            {[]any{""}, ""},
		"what was missing comes":        {[]any{"a machine", ""}, ""},
		"an error passes":               {[]any{errors.New("conflict"), ""}, ""},
		"a violation does not":          {[]any{broken, ""}, "two in one"},
		"what is missing is reported":   {[]any{"a machine"}, "gave up; still missing: a machine"},
		"a permanent error is reported": {[]any{errors.New("conflict")}, "gave up; still missing: conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 6*PollInterval, errors.New("gave up"))
			defer cancel()
			asked := 0
			err := Until(ctx, func(context.Context) (string, error) {
				answer := tc.answers[min(asked, len(tc.answers)-1)]
				asked++
				if err, ok := answer.(error); ok {
					return "", err
				}
				return answer.(string), nil
			})
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.want))
		})
	}
}
