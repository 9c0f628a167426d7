//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
)

// onHosts is a test with hosts.
type onHosts struct {
	*fixture
	hostCluster
}

// A cluster on hosts that upstream's manager created continues to work under ours.
func TestTakeOverMetal3(t *testing.T) {
	dir := newFolder(t)
	b, err := newBareMetal(t.Context(), dir, os.Stderr, logr.Discard())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(b.close)
	w := &onHosts{fixture: &fixture{T: t, Gomega: NewWithT(t), environment: b.environment}, hostCluster: b.hostCluster}

	w.Expect(w.createCluster(t.Context())).To(Succeed())
	w.settles(hostMachines)
	w.until(func(ctx context.Context) (string, error) { return w.used(ctx, hostMachines) })
	before := w.state()
	w.preflightOutput(dir)
	before = w.changeOver(before)
	if !w.older {
		w.downgradeAndUpgrade(before)
	}
	w.scaleUp(before)
	w.noStaleConditions(before.Machines, "Metal3Machine", "anywhere")
	w.rollOut(before)
	w.remediate()
	w.delete()
	if w.older {
		w.Expect(w.management.Apply(t.Context(), w.upstream)).To(MatchError(ContainSubstring("status.storedVersions[0]")), "v1beta1 cannot be restored")
	}
}

func (w *onHosts) state() HostState {
	w.Helper()
	now, err := w.State(w.Context())
	w.Expect(err).NotTo(HaveOccurred())
	return now
}

// preflightOutput checks the preflight report on upstream's installation.
func (w *onHosts) preflightOutput(dir string) {
	stored := MatchRegexp(`Changes +metal3 +CustomResourceDefinition metal3machines\S+ +StoredVersions +objects that are stored in v1beta1`)
	if !w.older {
		stored = Not(stored)
	}
	w.Expect(w.preflight(dir, "metal3")).To(stored)
}

// changeOver kills upstream's manager, which uses no lease, and then applies our components over upstream's. At that time upstream's
// manager has claimed a host for one more worker, which boots under ours. It returns the state with that worker.
func (w *onHosts) changeOver(before HostState) HostState {
	w.Log("upstream's manager ends, and our components are applied over its")
	ctx := w.Context()
	w.Expect(w.scaleWorkersUp(ctx, "anywhere")).To(Succeed())
	name, claimed := w.awaitHost("a host that is claimed for one more worker", func(h host) bool {
		return h.Consumer != "" && before.Machines[h.Consumer].UID == "" && h.State != "provisioned"
	})
	w.Expect(w.management.Kill(w.upstream.Name)).To(Succeed())

	w.apply()
	w.settles(len(before.Machines) + 1)
	w.until(w.adopted)
	w.Expect(w.holder(ctx)).NotTo(BeEmpty())
	after := w.state()
	w.Expect(after.Machines[claimed.Consumer].ProviderID).To(Equal("metal3://" + Namespace + "/" + name + "/" + claimed.Consumer))
	w.Expect(before.Differences(after)).To(w.addOneWorker(), "what there was is as it was")
	return after
}

// awaitHost waits for a matching host.
func (w *onHosts) awaitHost(what string, wanted func(host) bool) (name string, found host) {
	w.until(func(ctx context.Context) (string, error) {
		hosts, err := w.hosts(ctx)
		for name, found = range hosts {
			if wanted(found) {
				return "", nil
			}
		}
		return what, err
	})
	return name, found
}

// addOneWorker matches the differences that an additional worker makes.
func (w *onHosts) addOneWorker() OmegaMatcher {
	return ConsistOf(
		HavePrefix("host rack-"), HavePrefix("object Metal3Machine anywhere-"), HavePrefix("object Metal3DataClaim anywhere-"),
		HavePrefix("object Metal3Data taken-"), HavePrefix("Secret anywhere-"), HavePrefix("Secret anywhere-"), HavePrefix("Secret anywhere-"),
		HavePrefix("Machine anywhere-"), HavePrefix("IPAddressClaim taken-"),
	)
}

// apply applies our components. If our manager has to migrate stored objects, it is killed during the migration.
func (w *onHosts) apply() {
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	crds, err := w.management.Client.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{})
	w.Expect(err).NotTo(HaveOccurred())
	defer crds.Stop()
	w.Expect(w.management.Apply(ctx, w.ours)).To(Succeed())
	if w.older {
		w.interrupt(crds.ResultChan())
	}
	w.until(w.Migrated)
	w.restart(binaries.CAPICore)
}

// scaleUp adds a worker.
func (w *onHosts) scaleUp(before HostState) {
	w.Log("a worker is added")
	w.Expect(w.scaleWorkersUp(w.Context(), "anywhere")).To(Succeed())
	w.settles(len(before.Machines) + 1)
	w.until(func(ctx context.Context) (string, error) { return w.used(ctx, len(before.Machines)+1) })
	w.Expect(before.Differences(w.state())).To(w.addOneWorker(), "what there was is as it was")
}

// rollOut replaces all machines except those of MachineDeployment anywhere.
func (w *onHosts) rollOut(before HostState) {
	w.Log("control plane and workers are rolled out")
	ctx := w.Context()
	w.Expect(w.replaceControlPlane(ctx)).To(Succeed())
	w.Expect(w.replaceWorkers(ctx, "zoned", machineTemplate{"Metal3MachineTemplate", "zoned"}, "https://images.example.com/next.qcow2", "image", "url")).To(Succeed())
	w.until(func(ctx context.Context) (string, error) {
		if missing, err := w.settled(ctx, len(before.Machines)+1); missing != "" || err != nil {
			return missing, err
		}
		now, err := w.machines(ctx)
		for name := range before.Machines {
			if _, there := now[name]; there && !strings.HasPrefix(name, "anywhere-") {
				return "replacing Machine " + name, err
			}
		}
		return "", err
	})
}

// remediate makes the host of a worker be rebooted, and then replaced, by a MachineHealthCheck with a Metal3RemediationTemplate. If a
// downgrade is possible, upstream's manager begins the remediation, and ours has to find out how far it got.
func (w *onHosts) remediate() {
	if !w.older {
		w.back(len(w.state().Machines))
	}
	w.Log("a worker is remediated")
	unhealthy, err := w.Managed.remediate(w.Context(), "zoned")
	w.Expect(err).NotTo(HaveOccurred())
	w.awaitHost("the host of Machine "+unhealthy+" switched off", func(h host) bool { return h.Consumer == unhealthy && !h.Powered })
	if !w.older {
		w.Expect(w.management.Kill(w.upstream.Name)).To(Succeed())
		w.apply()
	}
	w.until(func(ctx context.Context) (string, error) {
		now, err := w.machines(ctx)
		if _, there := now[unhealthy]; there || err != nil {
			return "replacing Machine " + unhealthy, err
		}
		return w.settled(ctx, len(now))
	})
}

// delete deletes the cluster, and expects hosts to be unchanged from before, and no address to be in use.
func (w *onHosts) delete() {
	w.Log("the cluster is deleted")
	w.Expect(w.Delete(w.Context())).To(Succeed())
	w.until(w.Gone)
	w.until(w.adopted)
	w.until(w.poolGone)
}

// downgradeAndUpgrade applies upstream's components over ours, and then ours again.
func (w *onHosts) downgradeAndUpgrade(before HostState) {
	w.back(len(before.Machines))
	w.Expect(before.Differences(w.state())).To(BeEmpty())
	w.Expect(w.management.Terminate(w.upstream.Name)).To(Succeed())
	w.apply()
	w.settles(len(before.Machines))
	w.until(w.adopted)
	w.Expect(before.Differences(w.state())).To(BeEmpty())
}

func (w *onHosts) back(machines int) {
	w.Log("upstream's components are applied over ours")
	w.Expect(w.management.Terminate(w.ours.Name)).To(Succeed())
	w.Expect(w.management.Apply(w.Context(), w.upstream)).To(Succeed())
	w.settles(machines)
}

// interrupt kills our manager after it has migrated some kinds but not all, and restarts it.
func (w *onHosts) interrupt(crds <-chan watch.Event) {
	for event := range crds {
		crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
		if ok && strings.Contains(crd.Name, "metal3") && slices.Equal(crd.Status.StoredVersions, []string{"v1beta2"}) {
			break
		}
	}
	w.Expect(w.management.Kill(w.ours.Name)).To(Succeed())
	versions, err := w.storedVersions(w.Context(), metal3.Provider{}.Describe().Name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(versions).To(And(ContainElement([]string{"v1beta2"}), ContainElement([]string{"v1beta1", "v1beta2"})), "it is killed in the middle")
	w.startAgain(w.ours.Name)
}
