// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testenv"
)

func TestHostsAppearAndADomainIsLost(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	env := testenv.Start(t, testenv.Options{})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, env.KubeConfig, 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", kubeconfig)

	stdin, commands := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--install-crds", "--racks=2", "--hosts-per-rack=2"}, stdin, io.Discard)
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

	say := func(command string) {
		_, err := fmt.Fprintln(commands, command)
		g.Expect(err).NotTo(HaveOccurred())
	}
	say("dance")
	say("lose rack-1")
	g.Eventually(dark).Should(Equal(2))
	say("restore rack-1")
	g.Eventually(lit).Should(Equal(4))
	stop()
	g.Eventually(ended).Should(Receive(BeNil()))
}
