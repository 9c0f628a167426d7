// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/ports"
	"github.com/faultline-io/faultline/shared/testenv"
)

func TestHostsAndLostDomain(t *testing.T) {
	g := integration.NewGomega(t)
	env := testenv.Start(t, testenv.Options{})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, env.KubeConfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", kubeconfig)

	reserved, err := ports.Reserve(1)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(reserved.Release)
	control := net.JoinHostPort(ports.Host, strconv.Itoa(reserved.First))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--install-crds", "--domains=rack-1,rack-2", "--hosts-per-rack=2", "--control=" + control}, io.Discard)
	}()

	scheme := runtime.NewScheme()
	g.Expect(simulator.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	count := func(fits func(simulator.Placement) bool) func() int {
		return func() int {
			n := 0
			placements, _ := simulator.Placements(ctx, c, "default")
			for _, p := range placements {
				if fits(p) {
					n++
				}
			}
			return n
		}
	}
	lit := count(func(p simulator.Placement) bool {
		return p.State == "available" && p.PoweredOn && !p.NoPower && p.Error == ""
	})
	dark := count(func(p simulator.Placement) bool { return p.Domain == "rack-1" && p.NoPower })
	g.Eventually(lit).Should(Equal(4))

	ask := func(method, fault string) int {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+control+"/faults/"+fault, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		return response.StatusCode
	}
	g.Expect(ask(http.MethodPut, "dance")).To(Equal(http.StatusUnprocessableEntity))
	g.Expect(ask(http.MethodPut, "lost-domains/rack-1")).To(Equal(http.StatusNoContent))
	g.Eventually(dark).Should(Equal(2))
	g.Expect(ask(http.MethodDelete, "lost-domains/rack-1")).To(Equal(http.StatusNoContent))
	g.Eventually(lit).Should(Equal(4))
	stop()
	g.Eventually(ended).Should(Receive(BeNil()))
}
