// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// ruleCase is one object and its expected errors.
type ruleCase[T any] struct {
	name   string
	change func(*T)
	want   []string
}

// testRules applies each change to a valid spec, and compares the errors.
func testRules[T any](t *testing.T, valid func() T, validate func(T, *field.Path) field.ErrorList, cases []ruleCase[T]) {
	t.Helper()
	var all []rulestest.Case[T]
	for _, c := range cases {
		all = append(all, rulestest.Case[T]{Name: c.name, Change: c.change, Want: c.want})
	}
	rulestest.Run(t, valid, validate, all)
}
