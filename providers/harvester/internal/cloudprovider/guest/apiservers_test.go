// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/shared/testenv"
)

// apiServers is a pool of API servers for guest clusters. A test has exclusive use of an API server and cleans it up afterwards: starting
// one takes longer than most tests.
type apiServers struct {
	free  []*envtest.Environment
	stops []func() error
}

// take returns an API server for exclusive use until the test ends.
func (a *apiServers) take(t *testing.T) *envtest.Environment {
	t.Helper()
	if len(a.free) == 0 {
		env, stop, err := testenv.Open(t.Context(), testenv.Options{Scheme: clientgoscheme.Scheme, Configure: func(plane *envtest.ControlPlane) {
			plane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.53.0.0/16,fd00:53::/112")
		}})
		if err != nil {
			t.Fatal(err)
		}
		a.stops, a.free = append(a.stops, stop), append(a.free, env)
	}
	last := len(a.free) - 1
	env := a.free[last]
	a.free = a.free[:last]
	t.Cleanup(func() {
		if err := empty(context.WithoutCancel(t.Context()), env); err != nil {
			t.Errorf("removing what was in the guest cluster: %v", err)
			return // it is not reused
		}
		a.free = append(a.free, env)
	})
	return env
}

// withGuests runs tests that leave API servers running.
type withGuests struct{ *testing.M }

// Run runs the tests and stops the API servers.
func (m withGuests) Run() int {
	code := m.M.Run()
	for _, stop := range guests.stops {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// empty deletes the objects that a test and its cloud provider have created, including those with finalizers of the cloud provider.
func empty(ctx context.Context, env *envtest.Environment) error {
	c, err := client.New(env.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return err
	}
	services := &corev1.ServiceList{}
	if err := c.List(ctx, services); err != nil {
		return err
	}
	for i := range services.Items {
		service := &services.Items[i]
		if service.Name == "kubernetes" { // created by the API server
			continue
		}
		release := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := errors.Join(client.IgnoreNotFound(c.Patch(ctx, service, release)), client.IgnoreNotFound(c.Delete(ctx, service))); err != nil {
			return err
		}
	}
	account := client.MatchingLabels{accountLabel: ""}
	return errors.Join(
		c.DeleteAllOf(ctx, &corev1.Node{}), c.DeleteAllOf(ctx, &corev1.Event{}, client.InNamespace("default")),
		c.DeleteAllOf(ctx, &rbacv1.ClusterRoleBinding{}, account), c.DeleteAllOf(ctx, &rbacv1.ClusterRole{}, account),
	)
}
