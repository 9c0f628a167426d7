// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

const (
	e2eModule = "../../../../e2e"
	// inClusterModule pins the IPAM provider of Cluster API. It is a separate module because it needs another version of
	// Cluster API.
	inClusterModule = e2eModule + "/build/ipam"
	// inClusterProgram is the path of the built provider. If nothing is cached, building it takes longer than all tests here,
	// so make builds it before.
	inClusterProgram = "../../../../.cache/bin/in-cluster-ipam"
)

// inCluster runs that provider for the namespace until the test ends. If the provider is unavailable, the test is skipped.
func (w *fixture) inCluster() {
	w.t.Helper()
	const module = "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
	run := func(cmd *exec.Cmd, env ...string) []byte {
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), w.t.Output()
		out, err := cmd.Output()
		if err != nil {
			w.t.Skipf("left out, as %s cannot be had: %v", module, err)
		}
		return out
	}
	run(exec.CommandContext(w.t.Context(), "go", "run", "-C", e2eModule, "./cmd/binaries", filepath.Base(inClusterProgram)), "CGO_ENABLED=0")
	// The program may come from another clone, and its module may be missing here.
	data := run(exec.CommandContext(w.t.Context(), "go", "mod", "download", "-C", inClusterModule, "-json", module), "GOWORK=off")
	found := struct{ Dir string }{}
	w.Expect(json.Unmarshal(data, &found)).To(Succeed())
	_, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{Paths: []string{filepath.Join(found.Dir, "config", "crd", "bases")}})
	w.Expect(err).NotTo(HaveOccurred())

	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(file, kubeconfig, 0o600)).To(Succeed())
	cmd := exec.CommandContext(context.WithoutCancel(w.t.Context()), inClusterProgram, "--kubeconfig="+file, "--namespace="+w.name,
		"--webhook-port=0", "--health-probe-bind-address=0", "--diagnostics-address=localhost:0", "--insecure-diagnostics")
	log, err := os.Create(filepath.Join(w.t.TempDir(), "log"))
	w.Expect(err).NotTo(HaveOccurred())
	cmd.Stdout, cmd.Stderr = log, log
	w.Expect(cmd.Start()).To(Succeed())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); w.t.Failed() && err == nil {
			w.t.Logf("the IPAM provider said:\n%s", said)
		}
	})
}

func (w *fixture) inClusterPool(name string, addresses ...any) *unstructured.Unstructured {
	w.t.Helper()
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
		"metadata": map[string]any{"namespace": w.name, "name": name},
		"spec":     map[string]any{"addresses": addresses, "prefix": int64(24), "gateway": "10.0.0.1"},
	}}
	w.create(pool)
	return pool
}

func TestMachinesWithInClusterIPPool(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.inCluster()
	pool := w.inClusterPool("p", "10.0.0.10-10.0.0.11")
	of := func(kind, name string) func(*infrav1.VSphereMachine) {
		return func(m *infrav1.VSphereMachine) {
			m.Spec.Network.Devices[0].DHCP4 = nil
			m.Spec.Network.Devices[0].AddressesFromPools = []infrav1.IPPoolReference{{APIGroup: "ipam.cluster.x-k8s.io", Kind: kind, Name: name}}
		}
	}
	first, second := w.worker("first", of("InClusterIPPool", "p")), w.worker("second", of("InClusterIPPool", "p"))
	w.waitForProvisioned(first)
	w.waitForProvisioned(second)
	w.Expect(append(w.vms()["first"].IPs, w.vms()["second"].IPs...)).To(ConsistOf("10.0.0.10", "10.0.0.11"))
	w.Expect(w.card(w.vms()["first"]).Gateway4).To(Equal("10.0.0.1"))

	third := w.worker("third", of("InClusterIPPool", "p"))
	missing := w.worker("missing", of("InClusterIPPool", "q"))
	uninstalled := w.worker("uninstalled", of("InfobloxIPPool", "r"))
	w.waitForAddressMessage(third, "InClusterIPPool p has no free address: enlarge it, or delete Machines that use one")
	w.waitForAddressMessage(missing, "InClusterIPPool q does not exist: create it, or name another pool")
	w.waitForAddressMessage(uninstalled, "no API is installed for InfobloxIPPool r of ipam.cluster.x-k8s.io: install the IPAM provider of this kind")
	w.Expect(w.vms()).To(HaveLen(2))

	free := w.vms()["first"].IPs
	w.remove(first)
	w.waitForProvisioned(third)
	w.Expect(w.vms()["third"].IPs).To(Equal(free), "an address is given back when its machine is gone")
	w.inClusterPool("q", "10.0.0.20")
	w.waitForProvisioned(missing)
	for _, machine := range []*infrav1.VSphereMachine{second, third, missing, uninstalled} {
		w.remove(machine)
	}
	w.Eventually(w.addressClaims).Should(BeEmpty())
	w.Expect(w.client.Delete(t.Context(), pool)).To(Succeed())
	w.Eventually(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(pool), pool) }).
		Should(MatchError(ContainSubstring("not found")), "nothing holds it any more")
}
