//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// infrastructure wraps the provider for specs: errors fail the spec.
type infrastructure struct {
	provider.KindProvider
	provider.Description

	observer observer
}

func infrastructureOf(p provider.KindProvider) infrastructure {
	return infrastructure{KindProvider: p, Description: p.Describe(), observer: observers(outside{
		Client: func() client.Client { return management.GetClient() }, Variables: func() map[string]string { return environment.Variables() },
		Boot: !*fast, Endpoint: func() string { return os.Getenv("CONTROL_PLANE_ENDPOINT_IP") },
	})[p.Describe().Name]}
}

func (i infrastructure) prepare(ctx context.Context, namespace string) {
	variables, err := i.observer.Prepare(ctx, namespace)
	Expect(err).NotTo(HaveOccurred())
	for name, value := range variables {
		Expect(os.Setenv(name, value)).To(Succeed())
	}
}

func (i infrastructure) distribute(ctx context.Context, g Gomega, cluster client.ObjectKey, change func(*faultlinev1.Distribution)) {
	g.Expect(i.distributeIn(ctx, cluster, change)).To(Succeed())
}

func (i infrastructure) setDomains(ctx context.Context, g Gomega, cluster client.ObjectKey, names []string) {
	g.Expect(i.observer.SetDomains(ctx, cluster, names)).To(Succeed())
}

func (i infrastructure) observed(ctx context.Context, g Gomega, namespace string) map[string]string {
	domains, err := i.observedIn(ctx, namespace)
	g.Expect(err).NotTo(HaveOccurred())
	return domains
}

func (i infrastructure) places(ctx context.Context, cluster string) map[string]string {
	places, err := i.observer.Places(ctx, cluster)
	Expect(err).NotTo(HaveOccurred())
	return places
}

func (i infrastructure) machines(ctx context.Context, cluster string) map[string]any {
	machines, err := i.observer.Machines(ctx, cluster)
	Expect(err).NotTo(HaveOccurred())
	return machines
}

func (i infrastructure) setBroken(ctx context.Context, domain string, broken bool) {
	Expect(i.observer.SetBroken(ctx, domain, broken)).To(Succeed())
}

// fault makes the simulator inject a fault until end is called or the spec ends.
func (i infrastructure) fault(ctx context.Context, fault string) (end func()) {
	set := func(ctx context.Context, present bool) {
		Expect(makeFault(ctx, environment, i, fault, present)).To(Succeed())
	}
	set(ctx, true)
	DeferCleanup(func(ctx SpecContext) { set(ctx, false) }) // in case the spec fails before it ends the fault
	return func() { set(ctx, false) }
}

// handOver keeps a simulator from acting on objects while they are moved away. For bare metal it corresponds to stopping Ironic of the
// real operator, whose webhook keeps running: the simulated operator has no webhook that must run.
func (i infrastructure) handOver(ctx context.Context, from *kind.Environment, move func()) {
	if !i.Simulator().InCluster {
		move()
		return
	}
	Expect(whileStopped(ctx, from, i.KindProvider, move)).To(Succeed())
}
