// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/faultline-io/faultline/shared/rules"
)

func TestWhatIsInTheWayIsNamedAsFarAsItCanBeRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(rules.InUseBy("Machine", []string{"ns/a"})).To(Equal("Machine ns/a is"))
	g.Expect(rules.InUseBy("Machine", []string{"ns/a", "ns/b", "ns/c"})).To(Equal("3 Machines (ns/a, ns/b, ns/c) are"))
	g.Expect(rules.InUseBy("Machine", []string{"ns/a", "ns/b", "ns/c", "ns/d", "ns/e"})).To(Equal("5 Machines (ns/a, ns/b, ns/c and 2 more) are"))
	g.Expect(rules.Abbreviated(nil)).To(BeEmpty())
}

type webhooks struct{ err error }

func (w webhooks) SetupWithManager(ctrl.Manager) error { return w.err }

// server is a manager that serves webhooks.
type server struct {
	ctrl.Manager
	webhooks webhook.Server
}

func (s server) GetWebhookServer() webhook.Server { return s.webhooks }

func (server) GetScheme() *runtime.Scheme { return runtime.NewScheme() }

func (server) GetConverterRegistry() conversion.Registry { return conversion.NewRegistry() }

func TestSetupNamesTheKindThatFails(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	setup := func(kinds ...rules.Kind) error {
		return rules.Setup(server{webhooks: webhook.NewServer(webhook.Options{})}, kinds...)
	}
	g.Expect(setup(rules.Kind{Name: "A", Webhooks: webhooks{}})).To(Succeed())
	g.Expect(setup(rules.Kind{Name: "A", Webhooks: webhooks{}}, rules.Kind{Name: "B", Webhooks: webhooks{errors.New("no path")}})).
		To(MatchError("setting up the webhooks of B: no path"))
}
