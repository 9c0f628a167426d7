// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

const object = "metal3cluster.infrastructure.cluster.x-k8s.io/prod-2"

func TestCordonEvictActivate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "rack-3", "-n", ns)).To(Equal(
		object + " failure domain rack-1 cordoned\n" + object + " failure domain rack-3 cordoned\n"))
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Cordoned", "rack-3": "Cordoned"}))
	g.Expect(ok(t, "evict", "prod-2", "rack-3", "-n", ns)).To(Equal(object + " failure domain rack-3 evicting\n"))
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Cordoned", "rack-3": "Evicting"}), "what was applied before stays")
	g.Expect(ok(t, "evict", "prod-2", "rack-3", "-n", ns)).To(Equal(object + " failure domain rack-3 unchanged\n"))
	g.Expect(ok(t, "activate", "prod-2", "rack-3", "-n", ns, "-o", "name")).To(Equal(object + "\n"))
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Cordoned", "rack-3": "Active"}))
	g.Expect(ok(t, "uncordon", "prod-2", "rack-1", "-n", ns)).To(Equal(object+" failure domain rack-1 activated\n"), "as kubectl calls it")
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Active", "rack-3": "Active"}))

	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range infra.GetManagedFields() {
		if entry.Manager == "kubectl-fd" {
			g.Expect(entry.FieldsV1.GetRawString()).To(Equal(`{"f:spec":{"f:distribution":{"f:failureDomains":{` +
				`"k:{\"name\":\"rack-1\"}":{".":{},"f:name":{},"f:state":{}},"k:{\"name\":\"rack-3\"}":{".":{},"f:name":{},"f:state":{}}}}}}`))
		}
	}
}

func TestActivateWithoutEntryReportsReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	got := shared.run(t, "activate", "prod-2", "rack-2", "-n", ns)
	g.Expect(got).To(Equal(result{
		object + " failure domain rack-2 unchanged\n",
		"note: failure domain rack-2 is Cordoned for another reason, FailureDomainHostsUnhealthy, which must be resolved first: 4 hosts, 4 in error: repair one\n", 0,
	}))
	g.Expect(wanted(t, ns)).To(BeEmpty())
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--dry-run=client")).To(Equal(object + " failure domain rack-1 cordoned (dry run)\n"))
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--dry-run=server")).To(Equal(object + " failure domain rack-1 cordoned (server dry run)\n"))
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--dry-run=client", "-o", "yaml")).To(Equal(`apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata:
  name: prod-2
  namespace: `+ns+`
spec:
  distribution:
    failureDomains:
    - name: rack-1
      state: Cordoned
`), "what would be applied, for a pipeline to take over")
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--dry-run=server", "-o", "json")).To(ContainSubstring(`"state": "Cordoned"`))
	g.Expect(wanted(t, ns)).To(BeEmpty())
}

// applyAs applies an entry as another field manager.
func applyAs(t *testing.T, manager, ns, domain, state string) {
	t.Helper()
	apply := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"distribution": map[string]any{
		"failureDomains": []any{map[string]any{"name": domain, "state": state}},
	}}}}
	apply.SetAPIVersion(fixtureVersion)
	apply.SetKind(fixtureKind)
	apply.SetNamespace(ns)
	apply.SetName("prod-2")
	NewWithT(t).Expect(shared.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(apply), client.FieldOwner(manager))).To(Succeed())
}

func TestForceConflictsTakesOverEntry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	applyAs(t, "pipeline", ns, "rack-1", "Active")
	const refusal = "the entry of Metal3Cluster prod-2 for failure domain rack-1 belongs to field manager pipeline: " +
		"change it there, or take it over with --force-conflicts"
	g.Expect(refused(t, "cordon", "prod-2", "rack-1", "rack-3", "-n", ns)).To(Equal(refusal))
	g.Expect(refused(t, "cordon", "prod-2", "rack-1", "-n", ns, "--dry-run=server")).To(Equal(refusal))
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Active"}), "neither of the two is written")
	ok(t, "cordon", "prod-2", "rack-3", "-n", ns)
	ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--force-conflicts")
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Cordoned", "rack-3": "Cordoned"}))
}

func TestTakenOverEntryIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	ok(t, "cordon", "prod-2", "rack-1", "-n", ns)
	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedSlice(infra.Object, []any{map[string]any{"name": "rack-1", "state": "Evicting"}}, "spec", "distribution", "failureDomains")).To(Succeed())
	g.Expect(shared.client.Update(t.Context(), infra, client.FieldOwner("somebody"))).To(Succeed())
	ok(t, "cordon", "prod-2", "rack-3", "-n", ns)
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Evicting", "rack-3": "Cordoned"}))
}

func TestClusterClassEntryIsRejected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	applyAs(t, "capi-topology", ns, "rack-1", "Active")
	g.Expect(refused(t, "cordon", "prod-2", "rack-1", "-n", ns)).To(Equal("the entry of Metal3Cluster prod-2 for failure domain rack-1 " +
		"is set by its ClusterClass, which would restore it: change it there, or in a variable of the Cluster"))
	ok(t, "cordon", "prod-2", "rack-3", "-n", ns)
	applyAs(t, "capi-topology", ns, "rack-1", "Active")
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Active", "rack-3": "Cordoned"}), "fields that the class does not set stay when it is applied again")
}

func TestWaitForState(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	done := make(chan result, 1)
	go func() { done <- shared.run(t, "cordon", "prod-2", "rack-1", "rack-3", "-n", ns, "--wait") }()
	g.Eventually(func() map[string]string { return wanted(t, ns) }, timeout).Should(HaveLen(2))
	g.Expect(setState(t.Context(), ns, "rack-1", "Cordoned", "CordonRequested")).To(Succeed())
	g.Consistently(done, "200ms").ShouldNot(Receive(), "one of the two is Active still")
	g.Expect(setState(t.Context(), ns, "rack-3", "Cordoned", "CordonRequested")).To(Succeed())
	var got result
	g.Eventually(done, timeout).Should(Receive(&got))
	g.Expect(got.err).To(BeEmpty())
	g.Expect(got.code).To(BeZero())
	g.Expect(ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--wait")).To(Equal(object+" failure domain rack-1 unchanged\n"), "it has the state already")
}

func TestWaitTimeout(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	got := shared.run(t, "cordon", "prod-2", "rack-1", "-n", ns, "--wait", "--timeout=1s")
	g.Expect(got).To(Equal(result{object + " failure domain rack-1 cordoned\n",
		"error: timed out after 1s waiting for failure domains to be Cordoned: rack-1 is Active: see kubectl fd get\n", 1}), "the result is printed before the error")
	got = shared.run(t, "activate", "prod-2", "rack-2", "-n", ns, "--wait", "--timeout=1s")
	g.Expect(got.err).To(HaveSuffix("error: timed out after 1s waiting for failure domains to be Active: rack-2 is Cordoned (FailureDomainHostsUnhealthy): see kubectl fd get\n"))
}

const (
	adviseOfPair = "prod-2-bbbbb, prod-2-ccccc of the control plane stay: rebalance is Advise, so no machine is moved: " +
		"set spec.distribution.controlPlane.rebalance to SurgeOne to move them"
	adviseOfOne = "prod-2-aaaaa of the control plane stays: rebalance is Advise, so no machine is moved: " +
		"set spec.distribution.controlPlane.rebalance to SurgeOne to move them"
	unspreadWorker = "prod-2-md-0-a1 of MachineDeployment prod-2-md-0 stays: its template names no failure domain, and workers are not spread: " +
		"set spec.distribution.workers.enabled to spread its machines"
)

func TestEvictNotesStayingMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(shared.run(t, "evict", "prod-2", "rack-1", "rack-2", "-n", ns)).To(Equal(result{
		object + " failure domain rack-1 evicting\n" + object + " failure domain rack-2 evicting\n",
		"note: " + adviseOfOne[:len("prod-2-aaaaa")] + ", " + adviseOfPair + "\nnote: " + unspreadWorker + "\n", 0,
	}))
	g.Expect(shared.run(t, "evict", "prod-2", "rack-2", "-n", ns, "--dry-run=server").err).To(Equal("note: " + adviseOfPair + "\n"))
	as := user(t, ns, may([]string{"get"}, "cluster.x-k8s.io", "clusters"), may([]string{"get", "patch"}, "infrastructure.cluster.x-k8s.io", "metal3clusters"))
	got := shared.run(t, "evict", "prod-2", "rack-3", "-n", ns, as)
	g.Expect(got.code).To(BeZero(), "the state is set")
	g.Expect(got.err).To(HavePrefix("note: the machines that no controller will move cannot be determined: missing right: list machines.cluster.x-k8s.io in namespace " + ns))
}

func TestEvictWaitFailsForStayingMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(shared.run(t, "evict", "prod-2", "rack-1", "-n", ns, "--wait")).To(Equal(result{
		object + " failure domain rack-1 evicting\n",
		"error: failure domain rack-1 will not be empty: " + adviseOfOne + "; " + unspreadWorker + "\n", 1,
	}))
}

// moveMachines lets the infrastructure cluster move machines of its control plane.
func moveMachines(t *testing.T, ns string) {
	t.Helper()
	g := NewWithT(t)
	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedField(infra.Object, "SurgeOne", "spec", "distribution", "controlPlane", "rebalance")).To(Succeed())
	g.Expect(shared.client.Update(t.Context(), infra)).To(Succeed())
}

// evictAndWait evicts a rack in the background, and checks that the command waits. It returns the channel that receives the result.
func evictAndWait(t *testing.T, ns, rack, reason string) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() { done <- shared.run(t, "evict", "prod-2", rack, "-n", ns, "--wait") }()
	NewWithT(t).Consistently(done, "2s").ShouldNot(Receive(), reason)
	return done
}

func TestEvictWait(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	moveMachines(t, ns)
	const left = "error: timed out after 1s waiting for failure domains to be empty: "
	got := shared.run(t, "evict", "prod-2", "rack-2", "-n", ns, "--wait", "--timeout=1s")
	g.Expect(got.err).To(Equal(left + "rack-2 is Cordoned: see kubectl fd plan\n"))
	g.Expect(setState(t.Context(), ns, "rack-2", "Evicting", "EvictionRequested")).To(Succeed())
	got = shared.run(t, "evict", "prod-2", "rack-2", "-n", ns, "--wait", "--timeout=1s")
	g.Expect(got.err).To(Equal(left + "rack-2 has prod-2-bbbbb, prod-2-ccccc: see kubectl fd plan\n"))

	done := evictAndWait(t, ns, "rack-2", "two machines are there still")
	for _, name := range []string{"prod-2-bbbbb", "prod-2-ccccc"} {
		g.Expect(shared.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})).To(Succeed())
	}
	g.Eventually(done, timeout).Should(Receive(Equal(result{object + " failure domain rack-2 unchanged\n", "", 0})))
}

func TestEvictWaitFailsAsSoonAsAMachineDeploymentStopsItsRollout(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	moveMachines(t, ns)
	md := machineDeployment(ns, "prod-2-md-0", "rack-2")
	g.Expect(shared.client.Create(t.Context(), md)).To(Succeed())
	done := evictAndWait(t, ns, "rack-1", "the rollout replaces the worker")
	md.Spec.Template.Spec.FailureDomain = ""
	g.Expect(shared.client.Update(t.Context(), md)).To(Succeed())
	g.Eventually(done, timeout).Should(Receive(Equal(result{
		object + " failure domain rack-1 evicting\n", "error: failure domain rack-1 will not be empty: " + unspreadWorker + "\n", 1,
	})))
}

func TestKubectlCommandNamesAreSuggested(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for wrong, right := range map[string]string{"drain": "evict", "activat": "activate", "histroy": "history"} {
		got := shared.run(t, wrong, "prod-2", "rack-1")
		g.Expect(got.code).To(Equal(1))
		g.Expect(got.err).To(And(ContainSubstring("unknown command"), ContainSubstring("\t"+right+"\n")))
	}
}

func TestWaitWithoutWatchPermission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	as := user(t, ns, may([]string{"get"}, "cluster.x-k8s.io", "clusters"),
		may([]string{"get", "patch"}, "infrastructure.cluster.x-k8s.io", "metal3clusters"))
	ok(t, "cordon", "prod-2", "rack-1", "-n", ns, as)
	got := shared.run(t, "cordon", "prod-2", "rack-1", "-n", ns, "--wait", as)
	g.Expect(got.code).To(Equal(1))
	g.Expect(got.err).To(HavePrefix("error: missing right: watch metal3clusters.infrastructure.cluster.x-k8s.io in namespace " + ns))
}

func TestEvictWaitWithoutWatchPermission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	as := user(t, ns, may([]string{"get", "list", "watch"}, "cluster.x-k8s.io", "clusters"),
		may([]string{"list", "watch"}, "cluster.x-k8s.io", "machines"), may([]string{"list"}, "cluster.x-k8s.io", "machinedeployments"),
		may([]string{"get", "list", "watch", "patch"}, "infrastructure.cluster.x-k8s.io", "metal3clusters"))
	got := shared.run(t, "evict", "prod-2", "rack-3", "-n", ns, "--wait", "--timeout=20s", as)
	g.Expect(got.err).To(HavePrefix("error: missing right: watch machinedeployments.cluster.x-k8s.io in namespace " + ns))
}

func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	done := make(chan result, 3)
	for _, domain := range []string{"rack-1", "rack-2", "rack-3"} {
		go func() { done <- shared.run(t, "evict", "prod-2", domain, "-n", ns) }()
	}
	for range 3 {
		var got result
		g.Eventually(done, timeout).Should(Receive(&got))
		g.Expect(got.code).To(BeZero(), got.err)
	}
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-1": "Evicting", "rack-2": "Evicting", "rack-3": "Evicting"}))
}

// second adds a second cluster to the namespace of own.
func second(t *testing.T, ns string) {
	t.Helper()
	observed := fixtureClusters()[0]
	unstructured.RemoveNestedField(observed.Infrastructure.Object, "spec", "distribution")
	observed.Cluster.Labels = map[string]string{"env": "prod"}
	NewWithT(t).Expect(shared.put(t.Context(), ns, observed)).To(Succeed())
}

func TestSeveralClustersAreListedAndConfirmed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	second(t, ns)
	list := "Cluster " + ns + "/prod-1: rack-3 (Active)\nCluster " + ns + "/prod-2: rack-3 (Active)\n"
	const first = "metal3cluster.infrastructure.cluster.x-k8s.io/prod-1"
	got := shared.run(t, "cordon", "--all-clusters", "rack-3", "-n", ns)
	g.Expect(got).To(Equal(result{"", list + "Set them to Cordoned? [y/N] error: nothing was changed: answer y, or set --yes\n", 1}))
	g.Expect(wanted(t, ns)).To(BeEmpty())
	dry := ok(t, "cordon", "--all-clusters", "rack-3", "-n", ns, "--dry-run=server")
	g.Expect(dry).To(Equal(first+" failure domain rack-3 cordoned (server dry run)\n"+object+" failure domain rack-3 cordoned (server dry run)\n"), "lists without a question")
	got = shared.answer(t, "y\n", "cordon", "--all-clusters", "rack-3", "-n", ns)
	g.Expect(got).To(Equal(result{
		first + " failure domain rack-3 cordoned\n" + object + " failure domain rack-3 cordoned\n", list + "Set them to Cordoned? [y/N] ", 0,
	}))
	g.Expect(wanted(t, ns)).To(Equal(map[string]string{"rack-3": "Cordoned"}))
	got = shared.run(t, "uncordon", "--clusters=prod-2", "rack-3", "-n", ns, "--yes")
	g.Expect(got).To(Equal(result{object + " failure domain rack-3 activated\n", "Cluster " + ns + "/prod-2: rack-3 (Cordoned)\n", 0}))
	got = shared.run(t, "cordon", "--all-clusters", "-l", "env=prod", "rack-1", "-n", ns, "-y")
	g.Expect(got.out).To(Equal(first + " failure domain rack-1 cordoned\n"))
}

func TestOneFailingClusterDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	second(t, ns)
	applyAs(t, "pipeline", ns, "rack-1", "Active")
	got := shared.run(t, "cordon", "--all-clusters", "rack-1", "-n", ns, "--yes", "-o", "name")
	g.Expect(got.code).To(Equal(1))
	g.Expect(got.out).To(Equal("metal3cluster.infrastructure.cluster.x-k8s.io/prod-1\n"))
	g.Expect(got.err).To(ContainSubstring("error: 1 of 2 clusters failed: Cluster " + ns + "/prod-2: the entry of Metal3Cluster prod-2 for failure domain rack-1 belongs to field manager pipeline"))
}

func TestContradictoryClusterSelection(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	for message, args := range map[string][]string{
		"a cluster and its failure domains must be named: kubectl fd cordon CLUSTER DOMAIN...":                   {"cordon", "prod-2"},
		"the failure domains must be named: kubectl fd evict --all-clusters DOMAIN...":                           {"evict", "--all-clusters"},
		"--clusters cannot be combined with --all-clusters: omit one of them":                                    {"cordon", "--all-clusters", "--clusters=a", "rack-1"},
		"--all-namespaces and --selector require --all-clusters: set it too":                                     {"cordon", "prod-2", "rack-1", "-A"},
		"--yes requires --clusters or --all-clusters: one cluster is set without a question":                     {"cordon", "prod-2", "rack-1", "-y"},
		"no selected cluster has failure domain rack-9: choose one of rack-1, rack-2, rack-3, or other clusters": {"cordon", "--all-clusters", "rack-1", "rack-9"},
		"Metal3Cluster prod-2 has no failure domain rack-9: choose one of rack-1, rack-2, rack-3":                {"cordon", "--clusters=prod-2", "rack-9"},
		"invalid --reason: must be one line of printable characters, at most 256 bytes":                          {"cordon", "prod-2", "rack-1", "--reason=\x1b[31m"},
	} {
		g.Expect(refused(t, append(args, "-n", ns)...)).To(Equal(message))
	}
}

func TestReasonIsRecordedAndShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	recorded := func() string {
		infra, err := infrastructure(t.Context(), ns)
		g.Expect(err).NotTo(HaveOccurred())
		return infra.GetAnnotations()[faultlinev1.StateReasonsAnnotation]
	}
	ok(t, "cordon", "prod-2", "rack-1", "rack-3", "-n", ns, "--reason=power supplies are replaced")
	const request = `{"state":"Cordoned","by":"admin","time":"2026-11-20T03:12:00Z","reason":"power supplies are replaced"}`
	g.Expect(recorded()).To(Equal(`{"rack-1":` + request + `,"rack-3":` + request + `}`))
	g.Expect(ok(t, "get", "-n", ns)).To(ContainSubstring("Cordoned requested by admin 0s ago: power supplies are replaced"))
	g.Expect(ok(t, "history", "prod-2", "-n", ns)).To(MatchRegexp(`CordonedRequested +failure domain rack-1: requested by admin: power supplies are replaced`))
	ok(t, "cordon", "prod-2", "rack-1", "-n", ns, "--reason=fans too")
	g.Expect(recorded()).To(ContainSubstring("fans too"), "the state is unchanged")

	ok(t, "activate", "prod-2", "rack-1", "-n", ns)
	g.Expect(recorded()).To(Equal(`{"rack-3":`+request+`}`), "a state without a reason has no outdated one")
	applyAs(t, "kubectl-fd", ns, "rack-3", "Evicting")
	g.Expect(recorded()).To(BeEmpty())
}

func TestReasonForAnotherStateIsNotShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	ok(t, "cordon", "prod-2", "rack-3", "-n", ns, "--reason=power")
	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedSlice(infra.Object, []any{map[string]any{"name": "rack-3", "state": "Evicting"}}, "spec", "distribution", "failureDomains")).To(Succeed())
	g.Expect(shared.client.Update(t.Context(), infra, client.FieldOwner("somebody"))).To(Succeed())
	g.Expect(ok(t, "get", "-n", ns)).NotTo(ContainSubstring("power"))
}

func TestForeignReasonsAreHarmless(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	annotate := func(value string) {
		infra, err := infrastructure(t.Context(), ns)
		g.Expect(err).NotTo(HaveOccurred())
		infra.SetAnnotations(map[string]string{faultlinev1.StateReasonsAnnotation: value})
		g.Expect(shared.client.Update(t.Context(), infra, client.FieldOwner("somebody"))).To(Succeed())
	}
	ok(t, "cordon", "prod-2", "rack-3", "-n", ns)
	annotate("not JSON")
	g.Expect(ok(t, "get", "-n", ns)).To(ContainSubstring("rack-3"))
	annotate(`{"rack-3":{"state":"Cordoned","by":"jane\u001b[2J","reason":"po\u0007wer"}}`)
	g.Expect(ok(t, "get", "-n", ns)).To(ContainSubstring("requested by jane[2J: power"))
	ok(t, "cordon", "prod-2", "rack-1", "-n", ns)
	got := refused(t, "cordon", "prod-2", "rack-1", "-n", ns, "--reason=x")
	g.Expect(got).To(Equal("annotation faultline.io/state-reasons of Metal3Cluster prod-2 belongs to another field manager: omit --reason, or take it over with --force-conflicts"))
}

func TestEvictingEveryFailureDomainIsNoted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	moveMachines(t, ns)
	ok(t, "evict", "prod-2", "rack-2", "-n", ns)
	g.Expect(shared.run(t, "evict", "prod-2", "rack-1", "rack-3", "-n", ns).err).To(ContainSubstring(
		"note: prod-2-aaaaa of the control plane stays: every failure domain of the cluster is set to Cordoned or Evicting, so none can take them: activate one\n"))
}
