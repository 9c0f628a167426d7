//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	patience = 4 * time.Minute
	// What the managers call themselves in vCenter.
	upstreamAgent, ourAgent = "infrastructure.cluster.x-k8s.io/", "faultline-vsphere-manager"
)

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
	w.ground, err = newGround(t.Context(), dir, os.Stderr, logr.Discard())
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.close)

	w.Expect(w.management.Apply(t.Context(), w.upstream)).To(Succeed())
	w.Expect(w.Create(t.Context())).To(Succeed())
	w.settles(Machines)
	before, err := w.State(t.Context())
	w.Expect(err).NotTo(HaveOccurred())

	w.preflight(dir)
	w.Log("our components are applied over upstream's")
	w.changeOver(before)
	w.scaleUp(before)
	w.noStaleConditions(before)
	w.rollOut(before)
	w.remediate()
	w.delete()
	w.Expect(w.management.Apply(t.Context(), w.upstream)).To(MatchError(ContainSubstring("status.storedVersions[0]")), "there is no way back to v1beta1")
}

type world struct {
	*testing.T
	Gomega
	*ground
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
	w.Expect(string(out)).To(And(
		MatchRegexp(`Changes +vsphere +CustomResourceDefinition vspheremachines\S+ +StoredVersions +objects that are stored in v1beta1`),
		MatchRegexp(`Changes +vsphere +VSphereCluster +ManagedFields`),
		ContainSubstring("0 to be put right before"),
	))
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
	ready, err := w.management.Restart(ctx, w.upstream.Name)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(ready(ctx)).To(Succeed())
	w.Expect(w.holder(ctx)).To(Equal(ours), "upstream's waits")
	w.Expect(w.management.Terminate(w.upstream.Name)).To(Succeed())
}

// scaleUp adds a worker.
func (w *world) scaleUp(before State) {
	w.Log("a worker is added")
	ctx := w.Context()
	w.Expect(w.ScaleUp(ctx)).To(Succeed())
	w.settles(len(before.Machines) + 1)
	after, err := w.State(ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(before.Differences(after)).To(ConsistOf(
		HavePrefix("virtual machine anywhere-"), HavePrefix("VSphereVM anywhere-"), HavePrefix("Machine anywhere-"),
	), "what there was is as it was")
}

// noStaleConditions expects that a machine of upstream's has no condition that one of ours has not: what upstream alone sets has gone.
func (w *world) noStaleConditions(before State) {
	for _, kind := range []string{"VSphereMachine", "VSphereVM"} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			objects, err := w.list(w.Context(), version, kind)
			w.Expect(err).NotTo(HaveOccurred())
			var taken, made []string
			for i := range objects {
				name := objects[i].GetName()
				_, old := before.Machines[name]
				switch {
				case !strings.HasPrefix(name, "anywhere-"):
				case old:
					taken = conditionsOf(&objects[i])
				default:
					made = conditionsOf(&objects[i])
				}
			}
			w.Expect(taken).NotTo(BeEmpty())
			w.Expect(made).To(ContainElements(taken), "%s in %s", kind, version)
		}
	}
}

// rollOut replaces all control-plane machines, and with another template, in upstream's v1beta1, the workers of a zone.
func (w *world) rollOut(before State) {
	w.Log("control plane and workers are rolled out")
	ctx, c := w.Context(), w.management.Client
	plane := &controlplanev1.KubeadmControlPlane{}
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, plane)).To(Succeed())
	was := plane.DeepCopy()
	plane.Spec.Rollout.After = metav1.Now()
	w.Expect(c.Patch(ctx, plane, client.MergeFrom(was))).To(Succeed())

	template := &unstructured.Unstructured{}
	template.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	template.SetKind("VSphereMachineTemplate")
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, template)).To(Succeed())
	next := &unstructured.Unstructured{Object: map[string]any{"spec": template.Object["spec"]}}
	next.SetGroupVersionKind(template.GroupVersionKind())
	next.SetNamespace(Namespace)
	next.SetName("larger")
	w.Expect(unstructured.SetNestedField(next.Object, int64(4), "spec", "template", "spec", "numCPUs")).To(Succeed())
	w.Expect(c.Create(ctx, next)).To(Succeed())
	deployment := &clusterv1.MachineDeployment{}
	w.Expect(c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: "zoned"}, deployment)).To(Succeed())
	had := deployment.DeepCopy()
	deployment.Spec.Template.Spec.InfrastructureRef.Name = next.GetName()
	w.Expect(c.Patch(ctx, deployment, client.MergeFrom(had))).To(Succeed())

	w.until(func(ctx context.Context) (string, error) {
		if missing, err := w.settled(ctx, len(before.Machines)+1); missing != "" || err != nil {
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
	w.Expect(w.DeleteZones(w.Context())).To(Succeed())
	w.until(w.ZonesGone)
}
