// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Explain lists the conditions that are not true.
func Explain(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, condition := range conditions {
		if condition.Status != metav1.ConditionTrue {
			fmt.Fprintf(&text, "\n  %s %s: %s", condition.Type, condition.Reason, condition.Message)
		}
	}
	return text.String()
}

// Because returns the cause of the context's end, if it has ended, else err.
func Because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
