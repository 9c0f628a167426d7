// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/faultline-io/faultline/shared/remote"
)

// secretOf returns the kubeconfig Secret of a Cluster.
func secretOf(cluster, content string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: cluster + "-kubeconfig"}, Data: map[string][]byte{"value": []byte(content)}}
}

// read returns the connection that other code creates from a Secret.
func read(t *testing.T, r client.Reader, cluster string) (*rest.Config, error) {
	t.Helper()
	found := &corev1.Secret{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: cluster + "-kubeconfig"}, found); err != nil {
		return nil, err
	}
	return clientcmd.RESTConfigFromKubeConfig(found.Data["value"])
}

func TestReaderRejectsFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var told []string
	secrets := fake.NewClientBuilder().WithObjects(secretOf("good", with("x", "", "token: t")), secretOf("bad", with("x", "", "tokenFile: /etc/passwd"))).Build()
	r := remote.NewReader(secrets, remote.Rules{}, func(cluster client.ObjectKey, why error) { told = append(told, cluster.String()+": "+why.Error()) })
	_, err := read(t, r, "good")
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		_, err = read(t, r, "bad")
		g.Expect(err).To(MatchError(ContainSubstring("key value of Secret n/bad-kubeconfig may not set tokenFile")))
	}
	_, err = read(t, r, "none")
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	g.Expect(told).To(Equal([]string{"n/bad: " + "key value of Secret n/bad-kubeconfig may not set tokenFile, because the manager reads no files: " +
		"set token (kubectl config view --flatten embeds files)"}), "it is reported once")

	g.Expect(secrets.Update(t.Context(), secretOf("bad", with("x", "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}")))).To(Succeed())
	_, err = read(t, r, "bad")
	g.Expect(err).To(HaveOccurred())
	g.Expect(told).To(HaveLen(2), "it is another reason")
	g.Expect(secrets.Update(t.Context(), secretOf("bad", with("x", "", "token: t")))).To(Succeed())
	_, err = read(t, r, "bad")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets.Update(t.Context(), secretOf("bad", with("x", "", "tokenFile: /etc/passwd")))).To(Succeed())
	_, err = read(t, r, "bad")
	g.Expect(err).To(HaveOccurred())
	g.Expect(told).To(HaveLen(3), "it was good in the meantime")
}

func TestReaderBoundsResponses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/endless") {
			for _, err := w.Write(make([]byte, 1000)); err == nil; _, err = w.Write(make([]byte, 1000)) {
			}
		}
		_, _ = fmt.Fprintf(w, "%s %s for %s by %s", r.Host, r.URL, r.Header.Get("Authorization"), r.UserAgent())
	}))
	t.Cleanup(server.Close)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	content := func(token string) string {
		all := with("x", fmt.Sprintf(", certificate-authority-data: %q", authority), "token: "+token)
		return strings.ReplaceAll(all, "https://a.example.com", server.URL+"/behind/a/path")
	}
	secrets := fake.NewClientBuilder().WithObjects(secretOf("c", content("t"))).Build()
	r := remote.NewReader(secrets, remote.Rules{Answer: 5000}, func(client.ObjectKey, error) {})
	_ = remote.NewReader(secrets, remote.Rules{}, func(client.ObjectKey, error) {})
	config, err := read(t, r, "c")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.BearerToken).To(BeEmpty(), "who connects needs no credentials")
	config.UserAgent = "others"
	get := func(path string) (string, error) {
		using, err := rest.HTTPClientFor(config)
		g.Expect(err).NotTo(HaveOccurred())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := using.Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	host := strings.TrimPrefix(server.URL, "https://")
	g.Expect(get("/api?limit=1")).To(Equal(host + " /behind/a/path/api?limit=1 for Bearer t by others"))
	_, err = get("/endless")
	g.Expect(err).To(MatchError(ContainSubstring("the response is too long: the manager reads at most 5000 bytes")))

	g.Expect(secrets.Update(t.Context(), secretOf("c", content("u")))).To(Succeed())
	_, err = read(t, r, "c")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(get("/api")).To(ContainSubstring("Bearer u"))
	r.Forget(client.ObjectKey{Namespace: "n", Name: "c"})
	_, err = get("/api")
	g.Expect(err).To(MatchError(ContainSubstring("the kubeconfig of Cluster n/c was deleted")))
}

func TestRequestsToADeletedClusterLeaveNoMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	content := strings.ReplaceAll(with("x", "", "token: t"), "https://a.example.com", server.URL)
	r := remote.NewReader(fake.NewClientBuilder().WithObjects(secretOf("gone", content), secretOf("stays", content)).Build(), remote.Rules{}, func(client.ObjectKey, error) {})
	hosts := map[string]string{}
	for _, cluster := range []string{"gone", "stays"} {
		config, err := read(t, r, cluster)
		g.Expect(err).NotTo(HaveOccurred())
		discover, err := discovery.NewDiscoveryClientForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = discover.ServerVersion()
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		hosts[cluster] = strings.TrimPrefix(config.Host, "workload://")
		g.Expect(counted(t)).To(ContainElement(hosts[cluster]))
	}
	r.Forget(client.ObjectKey{Namespace: "n", Name: "gone"})
	g.Expect(counted(t)).To(And(Not(ContainElement(hosts["gone"])), ContainElement(hosts["stays"])))
}

// counted returns the servers whose requests are counted.
func counted(t *testing.T) (hosts []string) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				if family.GetName() == "rest_client_requests_total" && label.GetName() == "host" {
					hosts = append(hosts, label.GetValue())
				}
			}
		}
	}
	return hosts
}
