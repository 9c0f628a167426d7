// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package demo

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
	"github.com/faultline-io/faultline/e2e/tool"
)

// TestDemoOnBareMetal runs the whole demo with a cluster from the ClusterClass, in parallel with TestDemoOnVSphere. `make demo` runs it
// with a cluster from the default template.
func TestDemoOnBareMetal(t *testing.T) {
	t.Parallel()
	testWhole(t, Options{Provider: metal3.Provider{}, Flavor: topology},
		"rack-b lost power", "no control plane (FailureDomainHostsUnhealthy)", "delete the BareMetalHost to complete the deletion of the Machine",
		"cannot control the power of the machine", "by force, and deleted it")
}

func TestDemoOfLostVCenter(t *testing.T) {
	t.Parallel()
	testWhole(t, Options{Provider: vsphere.Provider{}, Scenario: "vcenter-lost"},
		"cluster-template-zones-multi-vcenter.yaml", "and its 2 machines lost power", "no control plane (VCenterUnreachable)",
		"2 of 3 members of etcd are up", "its machines are powered on", "none of them was lost", "nothing is left")
}

// testWhole runs a demo, whose output must have these parts.
func testWhole(t *testing.T, options Options, parts ...string) {
	t.Helper()
	g := NewWithT(t)
	var told strings.Builder
	options.Out = &told
	err := runIn(t.Context(), options, t.TempDir())
	t.Log(told.String())
	if err != nil {
		t.Fatal(Explain(err))
	}
	for _, part := range parts {
		g.Expect(told.String()).To(ContainSubstring(part))
	}
}

// TestDemoOnVSphere runs the demo and, on the same management cluster, tests how a MachineSet scales down and how a demo fails: starting
// a management cluster is half of the cost.
func TestDemoOnVSphere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told := &output{}
	s := demoOf(t, Options{Provider: vsphere.Provider{}, Flavor: topology, Out: told})
	steps := s.steps()
	run := func(steps []step) {
		if err := s.run(steps); err != nil {
			t.Fatal(told, Explain(err))
		}
	}
	run(steps[:len(steps)-1])
	t.Run("kubectl fd preflight checks the installation", func(t *testing.T) { testPreflight(t, s) })
	t.Run("workers stay spread when several are deleted at once", func(t *testing.T) { testScaleDown(t, s) })
	run(steps[len(steps)-1:])
	t.Log(told)
	all := told.String() + s.summary()
	for _, part := range []string{
		"Ready=False", "no control plane (DatastoreNotFound)", "Ready=True", " in all\n", "nothing is left",
	} {
		g.Expect(all).To(ContainSubstring(part))
	}
	t.Run("a failure is explained", func(t *testing.T) { testFailure(t, s, told) })
}

// testPreflight expects the findings of an installation in a cluster: the Deployment of the manager, clusterctl's Providers and the objects
// of the cluster.
func testPreflight(t *testing.T, d *demo) {
	t.Helper()
	g := NewWithT(t)
	plugin := filepath.Join(t.TempDir(), "kubectl-fd")
	commands := tool.Runner{Log: t.Output(), Env: []string{"GOWORK=off", "CGO_ENABLED=0"}}
	_, err := commands.Run(t.Context(), "go", "build", "-C", filepath.Join("..", "..", "kubectl-fd"), "-o", plugin, ".")
	g.Expect(err).NotTo(HaveOccurred())
	out, err := commands.Run(t.Context(), plugin, "preflight", "--kubeconfig", d.Management.Kubeconfig, "--cache-dir", t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	t.Log(out)
	g.Expect(out).To(And(ContainSubstring("no takeover is needed"), HaveSuffix("0 to fix before the takeover, 0 to check, 1 that will be different\n")))
}
