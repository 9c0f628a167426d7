// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/shared/kubeconfig"
)

// with is a kubeconfig whose cluster and user have one more field each.
func with(context, cluster, user string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %q,
  contexts: [{name: %q, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "https://a.example.com"%s}}],
  users: [{name: u, user: {%s}}, {name: other, user: {tokenFile: /etc/passwd}}]}`, context, context, cluster, user)
}

func TestOnlyWhatIsInAKubeconfigItselfIsUsed(t *testing.T) {
	g := NewWithT(t)
	config, err := kubeconfig.Parse([]byte(with("x", "", "token: t")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{config.Host, config.BearerToken, config.BearerTokenFile}).To(Equal([]string{"https://a.example.com", "t", ""}))

	for field, content := range map[string]string{
		"tokenFile":             with("x", "", "tokenFile: /etc/passwd"),
		"client-certificate":    with("x", "", "client-certificate: /etc/passwd, client-key-data: eA=="),
		"client-key":            with("x", "", "client-certificate-data: eA==, client-key: /etc/passwd"),
		"certificate-authority": with("x", ", certificate-authority: /etc/passwd", "token: t"),
		"exec":                  with("x", "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}"),
		"auth-provider":         with("x", "", "auth-provider: {name: oidc}"),
		"proxy-url":             with("x", `, proxy-url: "http://b.example.com"`, "token: t"),
	} {
		// A context may have no name, and be the current one.
		for _, data := range []string{content, with("", "", "tokenFile: /etc/passwd")} {
			_, err := kubeconfig.Parse([]byte(data))
			g.Expect(err).To(HaveOccurred(), field)
		}
		_, err := kubeconfig.Parse([]byte(content))
		g.Expect(err).To(MatchError(ContainSubstring("may not set %s, as", field)))
	}
	for _, data := range []string{"{", "", "{}", `{current-context: x}`} {
		_, err := kubeconfig.Parse([]byte(data))
		g.Expect(err).To(MatchError(ContainSubstring("kubeconfig")), data)
	}
}

func TestReaderRefusesAKubeconfigSecretThatNamesFiles(t *testing.T) {
	g := NewWithT(t)
	secretOf := func(name, content string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Data: map[string][]byte{"value": []byte(content)}}
	}
	secrets := kubeconfig.Reader(fake.NewClientBuilder().WithObjects(
		secretOf("good", with("x", "", "token: t")), secretOf("bad", with("x", "", "tokenFile: /etc/passwd"))).Build())
	g.Expect(secrets.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "good"}, &corev1.Secret{})).To(Succeed())
	g.Expect(secrets.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "bad"}, &corev1.Secret{})).To(
		MatchError(ContainSubstring("key value of Secret n/bad may not set tokenFile")))
	g.Expect(client.IgnoreNotFound(secrets.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "none"}, &corev1.Secret{}))).To(Succeed())
}
