// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"

	"github.com/faultline-io/faultline/shared/remote"
)

// FuzzParse parses a kubeconfig written by a user of the management cluster. No accepted kubeconfig may lead to a file, a program
// or a proxy.
func FuzzParse(f *testing.F) {
	f.Add([]byte(with("x", "", "token: t")))
	f.Add([]byte(with("", ", certificate-authority: /etc/passwd", "tokenFile: /etc/passwd")))
	f.Add([]byte(with("x", `, proxy-url: "http://b.example.com", tls-server-name: c`, "client-certificate-data: eA==, client-key-data: eA==")))
	f.Add([]byte(with("x", ", insecure-skip-tls-verify: true", "username: a, password: b, as: c, exec: {command: id}, auth-provider: {name: oidc}")))
	f.Add([]byte(`{current-context: x, contexts: [{name: x}, {name: x, context: null}], users: [{name: ""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := remote.Rules{}.Parse(data)
		if err != nil {
			return
		}
		if config.BearerTokenFile != "" || config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" {
			t.Fatalf("%q leads to a file: %v", data, config)
		}
		if config.ExecProvider != nil || config.AuthProvider != nil || config.Proxy != nil {
			t.Fatalf("%q leads to a program or a proxy: %v", data, config)
		}
	})
}
