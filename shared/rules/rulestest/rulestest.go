// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rulestest tests rules with tables of changes to a valid object, the wire format of kinds, and the lossless conversion
// between their versions.
package rulestest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Summary returns field and type of each error.
func Summary(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, fmt.Sprintf("%s: %s", err.Field, err.Type))
	}
	return lines
}

// Causes returns field and type of each cause of a rejected request.
func Causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var lines []string
	for _, cause := range status.Status().Details.Causes {
		lines = append(lines, fmt.Sprintf("%s: %s", cause.Field, field.ErrorType(cause.Type)))
	}
	return lines
}

// Case is a change to a valid object with the expected errors.
type Case[T any] struct {
	Name   string
	Change func(*T)
	Want   []string
}

// Run applies each change to a valid spec and compares the errors. It also expects each error to state how to fix it.
func Run[T any](t *testing.T, valid func() T, validate func(T, *field.Path) field.ErrorList, cases []Case[T]) {
	t.Helper()
	t.Run("valid", func(t *testing.T) {
		gomega.NewWithT(t).Expect(validate(valid(), field.NewPath("spec"))).To(gomega.BeEmpty())
	})
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			spec := valid()
			tc.Change(&spec)
			errs := validate(spec, field.NewPath("spec"))
			g.Expect(Summary(errs)).To(gomega.ConsistOf(tc.Want))
			for _, err := range errs {
				if err.Type != field.ErrorTypeDuplicate && err.Type != field.ErrorTypeNotSupported {
					g.Expect(err.Detail).NotTo(gomega.BeEmpty(), err.Field)
				}
			}
		})
	}
}
