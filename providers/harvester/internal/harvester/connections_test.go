// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestNewConnectionEnqueuesAskers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	who := w.asker(harvester.Cluster, "one")
	conn, problem := w.connections.Get(t.Context(), w.target, who)
	w.Expect(conn).To(BeNil())
	w.Expect(problem.Pending).To(BeTrue())
	w.Eventually(func() bool {
		conn, _ := w.connections.Get(t.Context(), w.target, who)
		return conn != nil && w.enqueued(who) > 0
	}).Should(BeTrue())
	system := &corev1.Namespace{}
	w.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system)).To(Succeed())
	w.Expect(w.waitForConnection(who).UID()).To(Equal(string(system.UID)))
}

func TestSecretsOfOneAccountShareConnection(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	one := w.waitForConnection(w.asker(harvester.Cluster, "one"))
	w.target.Identity.Name = "other"
	w.identity(sim.Kubeconfig())
	w.Expect(w.waitForConnection(w.asker(harvester.Cluster, "two"))).To(BeIdenticalTo(one))

	w.connections.Forget(w.asker(harvester.Cluster, "one"))
	w.Expect(w.waitForConnection(w.asker(harvester.Cluster, "two"))).To(BeIdenticalTo(one))
	w.connections.Forget(w.asker(harvester.Cluster, "two"))
	w.Expect(w.waitForConnection(w.asker(harvester.Cluster, "two"))).NotTo(BeIdenticalTo(one), "the unused connection was closed")
}

func TestKubeconfigRotation(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	who := w.asker(harvester.Machine, "m")
	former := w.waitForConnection(who)

	kubeconfig, err := clientcmd.Load(sim.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())
	for _, user := range kubeconfig.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "somebody", []string{"system:masters"}
	}
	rotated, err := clientcmd.Write(*kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	w.identity(rotated)
	w.Eventually(func() *harvester.Connection { return w.waitForConnection(who) }).ShouldNot(BeIdenticalTo(former))

	w.identity([]byte("what is this"))
	problem := w.waitForProblem(who)
	w.Expect(problem.Reason).To(Equal(infrav1.KubeconfigInvalidReason))
	w.Expect(problem.Message).To(ContainSubstring("key kubeconfig of Secret " + w.target.Identity.String()))
}

func TestKubeconfigProblems(t *testing.T) {
	t.Parallel()
	kubernetes := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(kubernetes.Close)
	expired := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(expired.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	to := func(url, user string) []byte {
		return []byte("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '" + url + "'}}], users: [{name: u, user: {" + user +
			"}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}")
	}
	for name, tc := range map[string]struct {
		kubeconfig      []byte
		reason, message string
	}{
		"none":                {nil, infrav1.KubeconfigInvalidReason, "is missing or empty"},
		"no context":          {[]byte("{apiVersion: v1, kind: Config}"), infrav1.KubeconfigInvalidReason, "current-context"},
		"runs a program":      {to("https://x", "exec: {apiVersion: client.authentication.k8s.io/v1, command: ls, interactiveMode: Never}"), infrav1.KubeconfigInvalidReason, "set token"},
		"names a file":        {to("https://x", "tokenFile: /etc/passwd"), infrav1.KubeconfigInvalidReason, "embeds files"},
		"leads to no such":    {to(kubernetes.URL, "token: t"), infrav1.NotHarvesterReason, "it is not Harvester"},
		"has expired":         {to(expired.URL, "token: t"), infrav1.HarvesterAuthenticationFailedReason, "put a new kubeconfig"},
		"leads where none is": {to(closed.URL, "token: t"), infrav1.HarvesterConnectionFailedReason, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.identity(tc.kubeconfig)
			problem := w.waitForProblem(w.asker(harvester.Cluster, "c"))
			w.Expect(problem.Reason).To(Equal(tc.reason), problem.Message)
			w.Expect(problem.Message).To(ContainSubstring(tc.message))
		})
	}
}

func TestAMissingSecretIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	problem := w.waitForProblem(w.asker(harvester.Cluster, "c"))
	w.Expect(problem.Reason).To(Equal(infrav1.IdentitySecretNotFoundReason))
	w.Expect(problem.Message).To(ContainSubstring(w.target.Identity.String()))
}

func TestConnectionWithoutSecretIsForDeletionsOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	who := w.asker(harvester.Machine, "m")
	open := w.waitForConnection(who)
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.target.Identity.Name}})).To(Succeed())
	w.Expect(w.waitForProblem(who).Reason).To(Equal(infrav1.IdentitySecretNotFoundReason))
	for _, name := range []string{"m", "another"} {
		conn, problem := w.connections.GetToDelete(t.Context(), w.target, w.asker(harvester.Machine, name))
		w.Expect(problem).To(BeZero())
		w.Expect(conn).To(BeIdenticalTo(open))
	}
	w.target.From = "tenant"
	_, problem := w.connections.GetToDelete(t.Context(), w.target, w.asker(harvester.Machine, "of-a-tenant"))
	w.Expect(problem.Reason).To(Equal(infrav1.IdentitySecretNotAllowedReason))
}

func TestKubeconfigForAnotherHarvesterIsRejected(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	w.target.UID = "that-of-another"
	problem := w.waitForProblem(w.asker(harvester.Machine, "m"))
	w.Expect(problem.Reason).To(Equal(infrav1.AnotherHarvesterReason))
	w.Expect(problem.Message).To(ContainSubstring("that-of-another"))
}

func TestSecretOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	w.target.From = "tenant"
	who := w.asker(harvester.Cluster, "c")
	problem := w.waitForProblem(who)
	w.Expect(problem.Reason).To(Equal(infrav1.IdentitySecretNotAllowedReason))
	w.Expect(problem.Message).To(ContainSubstring("add tenant to its annotation " + faultlinev1.AllowedNamespacesAnnotation))
	w.Expect(w.connections.Unconsented(t.Context(), w.target)).To(Equal(problem))

	w.allow("other,tenant")
	w.waitForConnection(who)
	w.Expect(w.connections.Unconsented(t.Context(), w.target)).To(BeZero())

	w.allow("other")
	w.Expect(w.waitForProblem(who).Reason).To(Equal(infrav1.IdentitySecretNotAllowedReason))
}

func TestExistenceOfForeignSecretIsNotRevealed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.target.From = "tenant"
	before := w.waitForProblem(w.asker(harvester.Cluster, "c"))
	w.identity(sim.Kubeconfig())
	w.Expect(w.waitForProblem(w.asker(harvester.Cluster, "c"))).To(Equal(before))
}

func TestUnconsentedSecretIsAcceptedWithWarning(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connections.Consent = owned.Warn
	w.identity(sim.Kubeconfig())
	w.target.From = "tenant"
	w.waitForConnection(w.asker(harvester.Cluster, "c"))
	w.Expect(w.connections.Unconsented(t.Context(), w.target)).To(HaveField("Reason", infrav1.IdentitySecretNotAllowedReason))
}

// allow sets the namespaces that may use the Secret.
func (w *fixture) allow(namespaces string) {
	w.t.Helper()
	secret := &corev1.Secret{}
	w.Expect(w.client.Get(w.t.Context(), w.target.Identity, secret)).To(Succeed())
	secret.Annotations = map[string]string{faultlinev1.AllowedNamespacesAnnotation: namespaces}
	w.Expect(w.client.Update(w.t.Context(), secret)).To(Succeed())
}

func TestEndlessResponseIsCancelled(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	var sent atomic.Int64
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		part := []byte(strings.Repeat("[", 1<<16))
		for n, err := w.Write(part); err == nil && sent.Load() < 50*most; n, err = w.Write(part) {
			sent.Add(int64(n))
		}
	}))
	t.Cleanup(endless.Close)
	w := newFixture(t)
	w.connections.Remote.Answer = most
	w.identity([]byte("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '" + endless.URL + "'}}], users: [{name: u, user: {}}], " +
		"contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}"))
	problem := w.waitForProblem(w.asker(harvester.Cluster, "one"))
	w.Expect(problem.Reason).To(Equal(infrav1.HarvesterConnectionFailedReason))
	w.Expect(problem.Message).To(ContainSubstring("the response is too long: the manager reads at most 1048576 bytes"))
	w.Expect(sent.Load()).To(BeNumerically("<", 50*most))
}

func TestRequestsToAnUnusedServerLeaveNoMetrics(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	w, fake := timed(t)
	w.identity([]byte("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: '" + server.URL + "'}}], users: [{name: u, user: {}}], " +
		"contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}"))
	counted := func() (found bool) {
		families, err := metrics.Registry.Gather()
		w.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			for _, series := range family.GetMetric() {
				for _, label := range series.GetLabel() {
					found = found || label.GetName() == "host" && label.GetValue() == strings.TrimPrefix(server.URL, "http://")
				}
			}
		}
		return found
	}
	who := w.asker(harvester.Cluster, "one")
	_ = w.waitForProblem(who)
	w.Eventually(counted).Should(BeTrue())
	w.connections.Forget(who)
	w.Eventually(func() bool {
		fake.Step(time.Second)
		return counted()
	}).Should(BeFalse())
}
