// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testworld

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Update changes an object until no conflict is in the way, as long as g waits. write is what is sent: Whole, or Status.
func Update[T client.Object](t *testing.T, g *gomega.WithT, c client.Client, o T, write func(context.Context, client.Client, client.Object) error, change func(T)) {
	t.Helper()
	g.Eventually(func(g gomega.Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(gomega.Succeed())
		change(o)
		g.Expect(write(t.Context(), c, o)).To(gomega.Succeed())
	}).Should(gomega.Succeed())
}

// Whole writes an object without its status, if that is a subresource.
func Whole(ctx context.Context, c client.Client, o client.Object) error { return c.Update(ctx, o) }

// Status writes the status of an object.
func Status(ctx context.Context, c client.Client, o client.Object) error {
	return c.Status().Update(ctx, o)
}
