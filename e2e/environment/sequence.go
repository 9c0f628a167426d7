//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// limit bounds a wait. Upstream's managers act again after intervals of up to a minute.
const limit = 5 * time.Minute

const (
	// Namespace is the namespace of a sequence's cluster.
	Namespace = "default"
	// Name is the name of that cluster.
	Name = "real"
)

// Fixture is a part of a sequence in an environment.
type Fixture struct {
	*testing.T
	gomega.Gomega
	*Environment
}

// Until waits until check reports nothing missing.
func (f *Fixture) Until(ctx context.Context, check func(context.Context) (missing string, err error)) {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f.Expect(provider.Until(ctx, check)).To(gomega.Succeed())
}

// Objects returns the objects of a template of the cluster.
func (f *Fixture) Objects(file string, variables map[string]string) []*unstructured.Unstructured {
	f.Helper()
	objects, err := f.Fill(file, client.ObjectKey{Namespace: Namespace, Name: Name}, variables)
	f.Expect(err).NotTo(gomega.HaveOccurred())
	return objects
}

// Create creates the objects of a template of the provider, whose failure domains may change soon.
func (f *Fixture) Create(ctx context.Context, template string, variables map[string]string) {
	f.Helper()
	variables = maps.Clone(variables)
	variables["FAILURE_DOMAIN_GRACE_SECONDS"], variables["FAILURE_DOMAIN_HOLD_SECONDS"] = "5", "5"
	for _, object := range f.Objects(filepath.Join(f.Root, "templates", template), variables) {
		f.Expect(f.Client.Create(ctx, object)).To(gomega.Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

// Part is a subtest that begins where the previous one ended.
type Part[F any] struct {
	Name string
	Run  func(F, context.Context)
}

// Sequence runs parts in one environment until one fails. Function of returns what the parts need for a Fixture.
func Sequence[F any](t *testing.T, options Options, of func(*Fixture) F, parts []Part[F]) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	var err error
	options.Progress = os.Stderr
	options.Dir, err = os.MkdirTemp("", options.Provider.Describe().Name+"-") //nolint:usetesting // The logs must survive a failure.
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	e, err := New(t.Context(), options)
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	ctx, err := e.Start(t.Context())
	t.Cleanup(func() {
		e.Close()
		if t.Failed() {
			t.Log("logs are in " + options.Dir)
			return
		}
		_ = os.RemoveAll(options.Dir)
	})
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	for _, part := range parts {
		if !t.Run(part.Name, func(t *testing.T) {
			began := time.Now()
			part.Run(of(&Fixture{T: t, Gomega: gomega.NewWithT(t), Environment: e}), ctx)
			t.Logf("%s: %.0f s", part.Name, time.Since(began).Seconds())
		}) {
			return
		}
	}
}
