//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
)

const (
	// User agents of the managers in vCenter.
	upstreamAgent, ourAgent = "infrastructure.cluster.x-k8s.io/", "faultline-vsphere-manager"
)

// inTheirCluster are the MachineDeployments whose machines are in the compute cluster that their template names.
var inTheirCluster = []string{"anywhere", pooled}

// virtualMachines is a test with a vCenter.
type virtualMachines struct {
	*fixture
	Cluster

	lost  []string // cluster modules that upstream created but did not record
	older bool     // upstream's release stores v1beta1
}

// A cluster on virtual machines that upstream's released manager created continues to work under ours.
func TestTakeOverVSphere(t *testing.T) {
	dir := newFolder(t)
	v, err := newVSphere(t.Context(), dir, os.Stderr, logr.Discard())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(v.close)
	w := &virtualMachines{fixture: &fixture{T: t, Gomega: NewWithT(t), environment: v.environment}, Cluster: v.Cluster}

	w.Expect(w.management.Apply(t.Context(), w.upstream)).To(Succeed())
	w.Expect(w.Create(t.Context())).To(Succeed())
	w.Expect(w.createPooled(t.Context())).To(Succeed())
	w.settles(Machines + pooledMachines)
	w.until(w.claimed)
	w.until(func(ctx context.Context) (string, error) { return w.apart(ctx, inTheirCluster...) })
	before, err := w.State(t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	modules, err := w.recorded(t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(slices.Sorted(maps.Values(modules))).To(Equal([]string{"anywhere", "claimed", "taken", "zoned"}))

	older, err := w.Migrated(t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	w.older = older != ""
	w.lost, err = w.unrecorded(t.Context())
	w.Expect(err).NotTo(HaveOccurred())

	w.preflightOutput(dir)
	w.Log("our components are applied over upstream's")
	w.changeOver(before)
	w.keptModules(modules)
	w.scaleUp(before)
	for _, kind := range []string{"VSphereMachine", "VSphereVM"} {
		w.noStaleConditions(before.Machines, kind, inTheirCluster...)
	}
	w.rollOut(before)
	w.keptModules(modules)
	w.remediate()
	w.delete()
	if w.older {
		w.Expect(w.management.Apply(t.Context(), w.upstream)).To(MatchError(ContainSubstring("status.storedVersions[0]")), "v1beta1 cannot be restored")
	}
}

// preflightOutput checks the preflight report on upstream's installation.
func (w *virtualMachines) preflightOutput(dir string) {
	stored := MatchRegexp(`Changes +vsphere +CustomResourceDefinition vspheremachines\S+ +StoredVersions +objects that are stored in v1beta1`)
	if !w.older {
		stored = Not(stored)
	}
	w.Expect(w.preflight(dir, "vsphere")).To(And(stored, MatchRegexp(`Changes +vsphere +VSphereCluster +ManagedFields`)))
}

// changeOver applies our components over upstream's while upstream's manager still runs, and then stops that.
func (w *virtualMachines) changeOver(before State) {
	ctx := w.Context()
	upstream, err := w.holder(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(upstream).NotTo(BeEmpty(), "upstream's manager has the lease")
	w.Expect(w.management.Apply(ctx, w.ours)).To(Succeed())
	w.Expect(w.holder(ctx)).To(Equal(upstream), "ours waits")
	agents, err := w.VCenter.agents(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(agents).To(And(ContainElement(HavePrefix(upstreamAgent)), Not(ContainElement(HavePrefix(ourAgent)))), "ours does nothing meanwhile")
	w.Expect(w.management.Terminate(w.upstream.Name)).To(Succeed())
	w.until(func(ctx context.Context) (string, error) {
		holder, err := w.holder(ctx)
		if err != nil || holder == upstream || holder == "" {
			return "our manager has the lease", err
		}
		return "", nil
	})
	w.until(w.Migrated)
	w.restart(binaries.CAPICore)
	w.settles(len(before.Machines))
	after, err := w.State(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(before.Differences(after)).To(BeEmpty())
	w.Expect(w.VCenter.agents(ctx)).To(ContainElement(HavePrefix(ourAgent)))
	w.upstreamAgain()
}

// upstreamAgain starts upstream's manager again, as if a user scaled its Deployment up by mistake.
func (w *virtualMachines) upstreamAgain() {
	ctx := w.Context()
	ours, err := w.holder(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.startAgain(w.upstream.Name)
	w.Expect(w.holder(ctx)).To(Equal(ours), "upstream's waits")
	w.Expect(w.management.Terminate(w.upstream.Name)).To(Succeed())
}

// keptModules expects upstream's cluster modules to be reused, and machines that are in a module of another compute cluster to get
// another module.
func (w *virtualMachines) keptModules(before map[string]string) {
	w.until(func(ctx context.Context) (string, error) { return w.apart(ctx, "anywhere", pooled, name, "zoned") })
	w.until(w.claimed)
	after, err := w.recorded(w.Context())
	w.Expect(err).NotTo(HaveOccurred())
	for uuid, owner := range before {
		w.Expect(after).To(HaveKeyWithValue(uuid, owner))
	}
	w.Expect(w.unrecorded(w.Context())).To(Equal(w.lost))
	w.Expect(after).To(HaveLen(len(before)+3), "one for workers in another zone, and two for the control plane")
}

// scaleUp adds a worker to each of two MachineDeployments.
func (w *virtualMachines) scaleUp(before State) {
	w.Log("two workers are added")
	ctx := w.Context()
	for _, owner := range inTheirCluster {
		w.Expect(w.scaleWorkersUp(ctx, owner)).To(Succeed())
	}
	w.settles(len(before.Machines) + 2)
	after, err := w.State(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(before.Differences(after)).To(ConsistOf(
		HavePrefix("virtual machine anywhere-"), HavePrefix("VSphereVM anywhere-"), HavePrefix("Machine anywhere-"),
		HavePrefix("virtual machine claimed-"), HavePrefix("VSphereVM claimed-"), HavePrefix("Machine claimed-"), HavePrefix("IPAddressClaim claimed-"),
	), "what there was is as it was")
	w.until(w.claimed)
}

// rollOut replaces all control-plane machines, and, with new templates in upstream's v1beta1, the workers of a zone and those with
// addresses of a pool.
func (w *virtualMachines) rollOut(before State) {
	w.Log("control plane and workers are rolled out")
	w.Expect(w.replaceControlPlane(w.Context())).To(Succeed())
	for deployment, like := range map[string]string{"zoned": name, pooled: pooled} {
		w.Expect(w.replaceWorkers(w.Context(), deployment, machineTemplate{"VSphereMachineTemplate", like}, int64(4), "numCPUs")).To(Succeed())
	}
	w.until(func(ctx context.Context) (string, error) {
		if missing, err := w.settled(ctx, len(before.Machines)+2); missing != "" || err != nil {
			return missing, err
		}
		now, err := w.State(ctx)
		for name := range before.Machines {
			if _, there := now.VMs[name]; there && !strings.HasPrefix(name, "anywhere-") {
				return "replacing virtual machine " + name, err
			}
		}
		return "", err
	})
}

// remediate makes a MachineHealthCheck replace a worker.
func (w *virtualMachines) remediate() {
	w.Log("a worker is remediated")
	unhealthy, err := w.Managed.remediate(w.Context(), "zoned")
	w.Expect(err).NotTo(HaveOccurred())
	w.until(func(ctx context.Context) (string, error) {
		now, err := w.State(ctx)
		if _, there := now.VMs[unhealthy]; there || err != nil {
			return "replacing virtual machine " + unhealthy, err
		}
		return w.settled(ctx, len(now.Machines))
	})
}

// delete deletes the cluster and then its zones, and expects nothing to be left.
func (w *virtualMachines) delete() {
	w.Log("the cluster is deleted")
	w.Expect(w.Delete(w.Context())).To(Succeed())
	w.until(w.Gone)
	left, err := w.VCenter.modules(w.Context())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(slices.Sorted(maps.Keys(left))).To(Equal(w.lost))
	w.until(w.poolGone)
	w.Expect(w.DeleteZones(w.Context())).To(Succeed())
	w.until(w.ZonesGone)
}
