// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// summary has field and type of each error.
func summary(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, fmt.Sprintf("%s: %s", err.Field, err.Type))
	}
	return lines
}

// causes has field and type of each cause of a refusal.
func causes(err error) []string {
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

// ruleCase is one object and the errors that are expected of it.
type ruleCase[T any] struct {
	name   string
	change func(*T)
	want   []string
}

// testRules applies each change to a spec that is valid, and compares the
// errors. It also wants each error to say what to do.
func testRules[T any](t *testing.T, valid func() T, validate func(T, *field.Path) field.ErrorList, cases []ruleCase[T]) {
	t.Helper()
	t.Run("valid", func(t *testing.T) {
		NewWithT(t).Expect(validate(valid(), field.NewPath("spec"))).To(BeEmpty())
	})
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			spec := valid()
			tc.change(&spec)
			errs := validate(spec, field.NewPath("spec"))
			g.Expect(summary(errs)).To(ConsistOf(tc.want))
			for _, err := range errs {
				if err.Type != field.ErrorTypeDuplicate && err.Type != field.ErrorTypeNotSupported {
					g.Expect(err.Detail).NotTo(BeEmpty(), err.Field)
				}
			}
		})
	}
}

func TestAdded(t *testing.T) {
	g := NewWithT(t)
	path := field.NewPath("spec", "server")
	old := field.ErrorList{field.Invalid(path, "a b", "no spaces")}
	g.Expect(added(old, old)).To(BeEmpty(), "an error that was there before")
	g.Expect(added(nil, old)).To(Equal(old), "an error that is new")
	g.Expect(added(old, field.ErrorList{field.Invalid(path, "c d", "no spaces")})).To(HaveLen(1), "the same error of another value")
	g.Expect(added(old, nil)).To(BeEmpty(), "an error that is mended")
}

func TestAddedWarnings(t *testing.T) {
	g := NewWithT(t)
	g.Expect(addedWarnings(admission.Warnings{"a"}, admission.Warnings{"a", "b"})).To(ConsistOf("b"))
}

func TestRefuse(t *testing.T) {
	g := NewWithT(t)
	g.Expect(refuse("Metal3Machine", "a", nil)).To(Succeed())
	err := refuse("Metal3Machine", "a", field.ErrorList{field.Forbidden(field.NewPath("spec", "image"), "remove it")})
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue())
	g.Expect(err).To(MatchError(And(ContainSubstring("Metal3Machine"), ContainSubstring("spec.image"), ContainSubstring("remove it"))))
	g.Expect(causes(err)).To(ConsistOf("spec.image: Forbidden"))
}
