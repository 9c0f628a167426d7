// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/remote"
)

// with returns a kubeconfig with one additional field each in cluster and user.
func with(context, cluster, user string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %q,
  contexts: [{name: %q, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "https://a.example.com"%s}}],
  users: [{name: u, user: {%s}}, {name: other, user: {tokenFile: /etc/passwd}}]}`, context, context, cluster, user)
}

func TestParse(t *testing.T) {
	g := NewWithT(t)
	config, err := remote.Rules{}.Parse([]byte(with("x", "", "token: t")))
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
		// A context may have an empty name and be the current one.
		for _, data := range []string{content, with("", "", "tokenFile: /etc/passwd")} {
			_, err := remote.Rules{}.Parse([]byte(data))
			g.Expect(err).To(HaveOccurred(), field)
		}
		_, err := remote.Rules{}.Parse([]byte(content))
		g.Expect(err).To(MatchError(ContainSubstring("may not set %s, because", field)))
	}
	for _, data := range []string{"{", "", "{}", `{current-context: x}`} {
		_, err := remote.Rules{}.Parse([]byte(data))
		g.Expect(err).To(MatchError(ContainSubstring("kubeconfig")), data)
	}
}

func TestAllowedProxies(t *testing.T) {
	t.Parallel()
	for proxy, allowed := range map[string]bool{
		"http://proxy.example.com":             true,
		"http://PROXY.example.com:3128":        true,
		"socks5://me:mine@proxy.example.com":   true,
		"https://10.0.0.1:3128":                true,
		"https://10.0.0.1:3129":                false,
		"https://10.0.0.1":                     false,
		"http://b.example.com":                 false,
		"http://proxy.example.com.example.org": false,
		"http://proxy.example.com@example.org": false,
		"http:proxy.example.com":               false,
	} {
		g := NewWithT(t)
		rules := remote.Rules{Proxies: []string{"proxy.example.com", "10.0.0.1:3128", ""}}
		config, err := rules.Parse([]byte(with("x", fmt.Sprintf(", proxy-url: %q", proxy), "token: t")))
		if !allowed {
			g.Expect(err).To(MatchError(ContainSubstring("may not set proxy-url, because")), proxy)
			continue
		}
		g.Expect(err).NotTo(HaveOccurred(), proxy)
		g.Expect(config.Proxy).NotTo(BeNil())
	}
}
