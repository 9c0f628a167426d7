// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/setup"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// patience is for a machine that does other things too; it is only waited out by a test that fails.
const patience = 2 * time.Minute

// config is the folder of the manager's manifests.
var config = filepath.Join("..", "..", "config", "loadbalancer")

func TestMain(m *testing.M) { testenv.MainOf(m, main) }

// TestManager runs the manager as it is installed: with its flags, its webhooks, the conversion of its kinds and no more rights than its
// manifests give it.
func TestManager(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	components, err := testenv.Render(t.Context(), config, nil)
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: config, Webhooks: true, Conversion: true})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	// It is Harvester's own, and there before.
	g.Expect(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: components.Manager.Namespace}})).To(Succeed())
	components.InstallRights(t, c)
	testenv.RunManager(t, env, components)

	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.0.0.0/24"}}}}
	// The webhook server takes a moment to answer.
	g.Eventually(func() error { return c.Create(t.Context(), pool) }).Should(Succeed())
	g.Expect(pool.Labels).To(HaveKeyWithValue(lbv1.GlobalPoolLabel, "false"))
}

func TestTheManagerTakesTheFlagsOfTheOtherManagersAndItsOwn(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), config, nil)
	g.Expect(err).NotTo(HaveOccurred())
	opts, controllers, flags := &manager.Options{}, setup.Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.AddFlags(flags)
	addFlags(flags, &controllers)
	g.Expect(flags.Parse(append(components.Args(), "--loadbalancer-concurrency=3"))).To(Succeed())
	g.Expect(controllers.LoadBalancers).To(Equal(3))
	g.Expect(components.Manager.Namespace).To(Equal("harvester-system"))
	for _, object := range components.Objects {
		g.Expect(object.GetKind()).NotTo(Equal("Namespace"), "the namespace is Harvester's, not the manager's to delete")
	}
}
