// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package managementcluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// timeout allows for a busy machine; only a failing test waits that long.
const timeout = 2 * time.Minute

// TestPlane starts a real cluster once and tests several aspects of it.
func TestPlane(t *testing.T) {
	g := NewWithT(t)
	builder, err := binaries.New(os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	programs, err := builder.Ensure(t.Context(), binaries.Etcd, binaries.APIServer, binaries.ControllerManager,
		binaries.CAPICore, binaries.CAPIKubeadmBootstrap, binaries.CAPIKubeadmControlPlane)
	g.Expect(err).NotTo(HaveOccurred())
	dir, version, err := builder.ClusterAPI(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	began := time.Now()
	p, err := Start(t.Context(), Options{
		Dir: t.TempDir(), Programs: programs, Components: ClusterAPI(programs, dir, version),
		Progress: func(message string) { t.Logf("%6.1fs %s", time.Since(began).Seconds(), message) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Stop)

	t.Run("webhooks set defaults and refuse", func(t *testing.T) { testWebhooks(t, p) })
	t.Run("older versions are converted", func(t *testing.T) { testConversion(t, p) })
	t.Run("managers have the rights of their release only", func(t *testing.T) { testRights(t, p) })
	t.Run("namespaces and garbage are collected", func(t *testing.T) { testCollection(t, p) })
	t.Run("processes are listed", func(t *testing.T) { testProcesses(t, p) })
	t.Run("a manager that was killed comes back as it was", func(t *testing.T) { testRestart(t, p) })
	t.Run("a process that dies is noticed", func(t *testing.T) { testDeath(t, p) })
	t.Run("stopping cleans up", func(t *testing.T) { testStop(t, p) })
}

func cluster(name string) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: clusterv1.ClusterSpec{
			Paused:          new(true),
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: name},
		},
	}
}

func testWebhooks(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(p.Client.Create(t.Context(), cluster("one"))).To(Succeed())

	deployment := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers"},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: "one",
			Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
				ClusterName: "one", Version: "1.36.3",
				Bootstrap: clusterv1.Bootstrap{DataSecretName: new("none")},
				// Any kind whose CRD has a contract label can be referenced.
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfigTemplate", Name: "one"},
			}},
		},
	}
	g.Expect(p.Client.Create(t.Context(), deployment)).To(Succeed())
	g.Expect(deployment.Spec.Template.Spec.Version).To(Equal("v1.36.3"), "the mutating webhook completes versions")

	other := cluster("two")
	other.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"not a CIDR"}
	err := p.Client.Create(t.Context(), other)
	g.Expect(err).To(MatchError(And(ContainSubstring("denied the request"), ContainSubstring("not a CIDR"))))
}

// testConversion reads a version that is not stored. The API server has to call the conversion webhook, which finds the version of
// referenced kinds by the contract labels of their CRDs.
func testConversion(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	old := &unstructured.Unstructured{}
	old.SetAPIVersion("cluster.x-k8s.io/v1beta1")
	old.SetKind("Cluster")
	g.Expect(p.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, old)).To(Succeed())
	version, _, err := unstructured.NestedString(old.Object, "spec", "controlPlaneRef", "apiVersion")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(HavePrefix("controlplane.cluster.x-k8s.io/v1beta"))
}

// testRights acts as a manager with its kubeconfig.
func testRights(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, binaries.CAPICore, "kubeconfig"))
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := client.New(config, client.Options{Scheme: p.Client.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.List(t.Context(), &clusterv1.ClusterList{})).To(Succeed())
	err = manager.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "more"}})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
}

func testCollection(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "passing"}}
	g.Expect(p.Client.Create(t.Context(), namespace)).To(Succeed())
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "passing", Name: "owner"}}
	g.Expect(p.Client.Create(t.Context(), owner)).To(Succeed())
	owned := owner.DeepCopy()
	owned.ObjectMeta = metav1.ObjectMeta{Namespace: "passing", Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID},
	}}
	g.Expect(p.Client.Create(t.Context(), owned)).To(Succeed())
	g.Expect(p.Client.Delete(t.Context(), owner)).To(Succeed())
	g.Eventually(gone(t.Context(), p, owned)).WithTimeout(timeout).Should(BeTrue())
	g.Expect(p.Client.Delete(t.Context(), namespace)).To(Succeed())
	g.Eventually(gone(t.Context(), p, namespace)).WithTimeout(timeout).Should(BeTrue())
}

func gone(ctx context.Context, p *Cluster, object client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(p.Client.Get(ctx, client.ObjectKeyFromObject(object), object))
	}
}

func testProcesses(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	total := int64(0)
	for _, process := range p.Processes() {
		t.Logf("%-26s %4d MiB, peak %4d MiB", process.Name, process.Memory>>20, process.Peak>>20)
		g.Expect(process.Log).To(BeAnExistingFile())
		total += process.Memory
	}
	g.Expect(p.Processes()).To(HaveLen(6))
	g.Expect(total>>20).To(And(BeNumerically(">", 100), BeNumerically("<", 2048)), "MiB")
	g.Expect(p.Err()).NotTo(HaveOccurred())
}

func testRestart(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	before := p.Processes()
	g.Expect(p.Kill(binaries.CAPICore)).To(Succeed())
	g.Expect(p.Processes()).To(HaveLen(len(before) - 1))
	g.Expect(p.Kill(binaries.CAPICore)).To(MatchError(ContainSubstring("no manager of that name is running")))
	g.Expect(p.Kill(binaries.Etcd)).To(MatchError(ContainSubstring("no manager of that name is running")))
	ready, err := p.Restart(t.Context(), binaries.CAPICore)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ready(t.Context())).To(Succeed())
	g.Expect(p.Client.Create(t.Context(), cluster("again"))).To(Succeed(), "its webhooks are where they were")
	g.Expect(p.Processes()).To(HaveLen(len(before)))
	g.Expect(p.Err()).NotTo(HaveOccurred())
}

func testDeath(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	var log []byte
	for _, process := range p.Processes() {
		if process.Name == binaries.CAPICore {
			g.Expect(syscall.Kill(process.PID, syscall.SIGKILL)).To(Succeed())
			var err error
			log, err = os.ReadFile(process.Log)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Eventually(p.Failed()).WithTimeout(timeout).Should(BeClosed())
	g.Expect(p.Err()).To(MatchError(And(
		ContainSubstring(binaries.CAPICore), ContainSubstring("killed"),
		ContainSubstring(string(bytes.TrimSpace(log[bytes.LastIndexByte(bytes.TrimSpace(log), '\n')+1:]))),
	)))
}

func testStop(t *testing.T, p *Cluster) {
	t.Helper()
	g := NewWithT(t)
	processes := p.Processes()
	began := time.Now()
	p.Stop()
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
	for _, process := range processes {
		g.Expect(syscall.Kill(process.PID, 0)).To(MatchError(syscall.ESRCH), "%s still runs", process.Name)
	}
	p.Stop()
	g.Expect(strings.Count(p.Err().Error(), "ended unexpectedly")).To(Equal(1))
}
