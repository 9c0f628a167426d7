// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// User acts as a user in a test: it changes objects, and waits with the timeout of G.
type User struct {
	T      *testing.T
	G      *gomega.WithT
	Client client.Client
}

// NewUser returns a User who waits as NewGomega does.
func NewUser(t *testing.T, c client.Client) User {
	t.Helper()
	return User{T: t, G: NewGomega(t), Client: c}
}

// Update applies change to the latest object and retries on conflict. write sends it: Whole or Status.
func Update[T client.Object](u User, o T, write func(context.Context, client.Client, client.Object) error, change func(T)) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		g.Expect(u.Client.Get(u.T.Context(), client.ObjectKeyFromObject(o), o)).To(gomega.Succeed())
		change(o)
		g.Expect(write(u.T.Context(), u.Client, o)).To(gomega.Succeed())
	}).Should(gomega.Succeed())
}

// Whole writes an object, without its status if that is a subresource.
func Whole(ctx context.Context, c client.Client, o client.Object) error { return c.Update(ctx, o) }

// Status writes the status of an object.
func Status(ctx context.Context, c client.Client, o client.Object) error {
	return c.Status().Update(ctx, o)
}
