//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	patience = 4 * time.Minute
	// What the managers call themselves in vCenter.
	upstreamAgent, ourAgent = "infrastructure.cluster.x-k8s.io/", "faultline-vsphere-manager"
)

// inTheirCluster are the MachineDeployments whose machines are in the compute cluster that their template names.
var inTheirCluster = []string{"anywhere", pooled}

// A cluster that upstream's released manager has made goes on under ours.
func TestAClusterOfUpstreamsManagerGoesOnUnderOurs(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "takeover-") //nolint:usetesting // The logs stay when it fails.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("logs are in " + dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	w := &world{T: t, Gomega: NewWithT(t)}
	w.environment, err = newEnvironment(t.Context(), dir, os.Stderr, logr.Discard())
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.close)

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

	w.preflight(dir)
	w.Log("our components are applied over upstream's")
	w.changeOver(before)
	w.keptModules(modules)
	w.scaleUp(before)
	w.noStaleConditions(before)
	w.rollOut(before)
	w.keptModules(modules)
	w.remediate()
	w.delete()
	if w.older {
		w.Expect(w.management.Apply(t.Context(), w.upstream)).To(MatchError(ContainSubstring("status.storedVersions[0]")), "there is no way back to v1beta1")
	}
}

type world struct {
	*testing.T
	Gomega
	*environment

	lost  []string // cluster modules that upstream has made and does not know of
	older bool     // upstream's release stores v1beta1
}

// settles waits until the cluster has so many machines and all is well.
func (w *world) settles(machines int) {
	w.Helper()
	w.until(func(ctx context.Context) (string, error) { return w.settled(ctx, machines) })
}

func (w *world) until(check func(context.Context) (string, error)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	w.Expect(provider.Until(ctx, check)).To(Succeed())
}

// preflight looks at upstream's installation before.
func (w *world) preflight(dir string) {
	program := filepath.Join(dir, "kubectl-fd")
	build := exec.CommandContext(w.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "shared", "cmd", "kubectl-fd")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s", out)
	out, err = exec.CommandContext(w.Context(), program, "preflight", "vsphere", "--kubeconfig", w.management.Kubeconfig, "--cache-dir", dir).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "nothing stops the change: %s", out)
	w.Log(string(out))
	stored := MatchRegexp(`Changes +vsphere +CustomResourceDefinition vspheremachines\S+ +StoredVersions +objects that are stored in v1beta1`)
	if !w.older {
		stored = Not(stored)
	}
	w.Expect(string(out)).To(And(stored, MatchRegexp(`Changes +vsphere +VSphereCluster +ManagedFields`), Not(ContainSubstring("Refused")),
		ContainSubstring("0 to be put right before")))
}

// changeOver applies our components over upstream's, whose manager still runs, and then ends that.
func (w *world) changeOver(before State) {
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

// upstreamAgain starts upstream's manager once more, as somebody does who scales its Deployment up by mistake.
func (w *world) upstreamAgain() {
	ctx := w.Context()
	ours, err := w.holder(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.start(w.upstream.Name)
	w.Expect(w.holder(ctx)).To(Equal(ours), "upstream's waits")
	w.Expect(w.management.Terminate(w.upstream.Name)).To(Succeed())
}

// restart restarts a manager, as the documentation says to do with Cluster API's: see watches_test.go.
func (w *world) restart(manager string) {
	w.Expect(w.management.Terminate(manager)).To(Succeed())
	w.start(manager)
}

func (w *world) start(manager string) {
	ready, err := w.management.Restart(w.Context(), manager)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(ready(w.Context())).To(Succeed())
}

// keptModules expects that the cluster modules which upstream has made are used, and that the machines which they are not for have
// others.
func (w *world) keptModules(before map[string]string) {
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

// scaleUp adds a worker to each of two.
func (w *world) scaleUp(before State) {
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

// noStaleConditions expects that a machine of upstream's has no condition that one of ours has not: what upstream alone sets has gone.
func (w *world) noStaleConditions(before State) {
	for _, kind := range []string{"VSphereMachine", "VSphereVM"} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			w.noStaleConditionsOf(before, kind, version)
		}
	}
}

func (w *world) noStaleConditionsOf(before State, kind, version string) {
	for _, owner := range inTheirCluster {
		objects, err := w.list(w.Context(), version, kind)
		w.Expect(err).NotTo(HaveOccurred())
		var taken, made []string
		for i := range objects {
			name := objects[i].GetName()
			_, old := before.Machines[name]
			switch {
			case !strings.HasPrefix(name, owner+"-"):
			case old:
				taken = conditionsOf(&objects[i])
			default:
				made = conditionsOf(&objects[i])
			}
		}
		w.Expect(taken).NotTo(BeEmpty())
		w.Expect(made).To(ContainElements(taken), "%s of %s in %s", kind, owner, version)
	}
}

// rollOut replaces all control-plane machines, and with other templates, in upstream's v1beta1, the workers of a zone and those with
// addresses of a pool.
func (w *world) rollOut(before State) {
	w.Log("control plane and workers are rolled out")
	ctx, c := w.Context(), w.management.Client
	plane := &controlplanev1.KubeadmControlPlane{}
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, plane)).To(Succeed())
	was := plane.DeepCopy()
	plane.Spec.Rollout.After = metav1.Now()
	w.Expect(c.Patch(ctx, plane, client.MergeFrom(was))).To(Succeed())

	w.enlarge("zoned", name)
	w.enlarge(pooled, pooled)
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

// enlarge gives a MachineDeployment a template like another, with more processors.
func (w *world) enlarge(deployment, like string) {
	ctx, c := w.Context(), w.management.Client
	template := &unstructured.Unstructured{}
	template.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	template.SetKind("VSphereMachineTemplate")
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: like}, template)).To(Succeed())
	next := &unstructured.Unstructured{Object: map[string]any{"spec": template.Object["spec"]}}
	next.SetGroupVersionKind(template.GroupVersionKind())
	next.SetNamespace(Namespace)
	next.SetName(deployment + "-larger")
	w.Expect(unstructured.SetNestedField(next.Object, int64(4), "spec", "template", "spec", "numCPUs")).To(Succeed())
	w.Expect(c.Create(ctx, next)).To(Succeed())
	object := &clusterv1.MachineDeployment{}
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: deployment}, object)).To(Succeed())
	had := object.DeepCopy()
	object.Spec.Template.Spec.InfrastructureRef.Name = next.GetName()
	w.Expect(c.Patch(ctx, object, client.MergeFrom(had))).To(Succeed())
}

// remediate has a worker replaced as a MachineHealthCheck does it.
func (w *world) remediate() {
	w.Log("a worker is remediated")
	ctx, c := w.Context(), w.management.Client
	machines := &clusterv1.MachineList{}
	w.Expect(c.List(ctx, machines, client.InNamespace(Namespace), client.MatchingLabels{"workers": "zoned"})).To(Succeed())
	w.Expect(machines.Items).To(HaveLen(1))
	unhealthy := &machines.Items[0]
	was := unhealthy.DeepCopy()
	metav1.SetMetaDataAnnotation(&unhealthy.ObjectMeta, clusterv1.RemediateMachineAnnotation, "")
	w.Expect(c.Patch(ctx, unhealthy, client.MergeFrom(was))).To(Succeed())
	w.until(func(ctx context.Context) (string, error) {
		now, err := w.State(ctx)
		if _, there := now.VMs[unhealthy.Name]; there || err != nil {
			return "replacing virtual machine " + unhealthy.Name, err
		}
		return w.settled(ctx, len(now.Machines))
	})
}

// delete deletes the cluster and then its zones, and expects that nothing is left.
func (w *world) delete() {
	w.Log("the cluster is deleted")
	w.Expect(w.Delete(w.Context())).To(Succeed())
	w.until(w.Gone)
	left, err := w.VCenter.modules(w.Context())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(slices.Sorted(maps.Keys(left))).To(Equal(w.lost))
	w.freesPool()
	w.Expect(w.DeleteZones(w.Context())).To(Succeed())
	w.until(w.ZonesGone)
}

// freesPool expects that nobody has an address of the pool any more, so that it can be deleted.
func (w *world) freesPool() {
	ctx, c := w.Context(), w.management.Client
	w.until(func(ctx context.Context) (string, error) {
		for _, kind := range []string{"IPAddressClaim", "IPAddress"} {
			left, err := w.listOf(ctx, ipamGroup, "v1beta2", kind)
			if len(left) > 0 || err != nil {
				return fmt.Sprintf("%d %s to go", len(left), kind), err
			}
		}
		return w.used(ctx, 0)
	})
	pool := newPool()
	w.Expect(c.Delete(ctx, pool)).To(Succeed())
	w.until(func(ctx context.Context) (string, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(pool), pool)
		if !apierrors.IsNotFound(err) {
			return "the pool to go", err
		}
		return "", nil
	})
}
