// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

// A cluster waits until a connection with another Secret of its namespace ends. A cluster of another namespace, which the Secret allows,
// does not wait.
func TestConnectionLimitOfNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	get := func(name string) *harvester.Problem {
		w.target.Identity.Name = name
		_, problem := w.connections.Get(t.Context(), w.target, w.asker(harvester.Cluster, name))
		return problem
	}
	name := func(i int) string { return fmt.Sprintf("identity-%d", i) }
	for i := range harvester.MaxConnections + 2 {
		w.account(name(i))
	}
	tooMany := HaveField("Message", ContainSubstring("has 64 connections to Harvester"))
	for i := range harvester.MaxConnections {
		w.Expect(get(name(i))).NotTo(tooMany)
	}
	last := w.asker(harvester.Cluster, name(harvester.MaxConnections))
	refused := get(last.Key.Name)
	w.Expect(refused).To(tooMany)
	w.Expect(refused.Reason).To(Equal(infrav1.HarvesterConnectionFailedReason))
	w.target.Identity.Name = name(harvester.MaxConnections + 1)
	w.allow("other")
	w.target.From = "other"
	w.Expect(get(w.target.Identity.Name)).NotTo(tooMany)
	w.target.From = w.namespace

	before := w.enqueued(last)
	w.connections.Forget(w.asker(harvester.Cluster, name(0)))
	w.Eventually(func() int { return w.enqueued(last) }).Should(BeNumerically(">", before))
	w.Expect(get(last.Key.Name)).To(tooMany, "64 are left")
	// The connection stays open for a cluster of another namespace, but no longer counts here.
	w.shareElsewhere(name(1))
	before = w.enqueued(last)
	w.connections.Forget(w.asker(harvester.Cluster, name(1)))
	w.Eventually(func() int { return w.enqueued(last) }).Should(BeNumerically(">", before))
	w.Expect(get(last.Key.Name)).NotTo(tooMany)
}

// shareElsewhere uses the connection of a Secret in another namespace, too.
func (w *fixture) shareElsewhere(name string) {
	w.t.Helper()
	secret := &corev1.Secret{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret)).To(Succeed())
	other := newFixture(w.t)
	other.identity(secret.Data[infrav1.KubeconfigKey])
	_, problem := w.connections.Get(w.t.Context(), other.target, other.asker(harvester.Cluster, "shares"))
	w.Expect(problem).To(HaveOccurred(), "nothing answers")
}

// account writes a Secret with an account of its own on a Harvester that does not answer.
func (w *fixture) account(name string) {
	w.t.Helper()
	kubeconfig, err := clientcmd.Load(sim.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range kubeconfig.Clusters {
		cluster.Server = "https://127.0.0.1:1" // Nothing answers.
	}
	for _, user := range kubeconfig.AuthInfos {
		user.Impersonate = name
	}
	content, err := clientcmd.Write(*kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	w.target.Identity.Name = name
	w.identity(content)
}
