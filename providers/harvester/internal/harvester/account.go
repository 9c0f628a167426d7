// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/remote"
)

// account holds the REST config of a Harvester and its credentials.
type account struct {
	config *rest.Config
	hash   string // equal for equal accounts
}

// accountOf parses the kubeconfig in a Secret.
func accountOf(secret *corev1.Secret, rules remote.Rules) (account, *Problem) {
	key := client.ObjectKeyFromObject(secret)
	wrong := func(what string) (account, *Problem) {
		return account{}, &Problem{Reason: infrav1.KubeconfigInvalidReason, Message: fmt.Sprintf("key %s of Secret %s %s", infrav1.KubeconfigKey, key, what)}
	}
	data := secret.Data[infrav1.KubeconfigKey]
	if len(data) == 0 {
		return wrong("is missing or empty: put a kubeconfig for Harvester there")
	}
	config, err := rules.Parse(data)
	if err != nil {
		return wrong(err.Error())
	}
	config.UserAgent = "faultline-harvester"
	config.QPS, config.Burst = -1, 0 // no client-side limit: Harvester's API server has priority and fairness, and requests are rare
	var proxy *url.URL
	if config.Proxy != nil {
		if proxy, err = config.Proxy(&http.Request{}); err != nil {
			return wrong(err.Error())
		}
	}
	content, err := json.Marshal([]any{
		config.Host, config.APIPath, config.CAData, config.Insecure, config.ServerName, proxy, config.DisableCompression,
		config.CertData, config.KeyData, config.BearerToken, config.Username, config.Password, config.Impersonate,
	})
	if err != nil {
		return wrong(err.Error())
	}
	sum := sha256.Sum256(content)
	return account{config: config, hash: hex.EncodeToString(sum[:])}, nil
}

// server returns the host and port of the API server, as in the metrics of requests.
func (a account) server() string {
	server, _, err := rest.DefaultServerUrlFor(a.config)
	if err != nil {
		return "" // without a usable server there are no requests
	}
	return server.Host
}
