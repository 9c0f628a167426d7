// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Timeout is long enough for a busy machine; only a failing test waits that long.
	Timeout = 3 * time.Minute
	// PollInterval is the interval at which a test reads the API server. Each poll is a request, which on a busy machine delays what the
	// test waits for.
	PollInterval = 100 * time.Millisecond
)

// NewGomega returns assertions for a test with an API server.
func NewGomega(t *testing.T) *gomega.WithT {
	t.Helper()
	g := gomega.NewWithT(t)
	g.SetDefaultEventuallyTimeout(Timeout)
	g.SetDefaultEventuallyPollingInterval(PollInterval)
	g.SetDefaultConsistentlyPollingInterval(PollInterval)
	return g
}

// NewNamespace creates a namespace for a test, and returns its name.
func NewNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating the namespace of the test: %v", err)
	}
	return namespace.Name
}
