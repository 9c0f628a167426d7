// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote reads kubeconfigs written by users of the management cluster, and limits the responses of the servers in them.
// Kubernetes' own libraries trust a kubeconfig: they read the files and run the programs that it names, and read responses of any
// length. In a manager these would be the manager's files, including the token of its ServiceAccount, which would be sent to a
// server chosen by the author of the kubeconfig, and the manager's memory, which it needs for other clusters. Connect connects a
// manager with the workload clusters of its provider.
package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/faultline-io/faultline/shared/remote/bounded"
)

// Rules define what the manager's administrator allows for servers and for users who configure them. The zero value is the
// default.
type Rules struct {
	// Proxies lists the hosts allowed in proxy-url, as host for any port or as host:port. If it is empty, no proxy-url is
	// allowed.
	Proxies []string
	// Answer is the maximum size of one response in bytes; 0 means bounded.Answer.
	Answer int64
}

// AddFlags adds the flags for the rules.
func (r *Rules) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&r.Proxies, "allowed-proxies", nil,
		"Hosts, as HOST or HOST:PORT, that kubeconfigs may name in proxy-url. If unspecified, kubeconfigs with a proxy-url are rejected.")
	fs.Int64Var(&r.Answer, "max-answer-bytes", bounded.Answer,
		"Maximum size in bytes of one response from servers that users name. A longer response is an error.")
}

// Parse returns the connection of the current context of a kubeconfig. Certificates, keys and tokens must be embedded in the
// kubeconfig. The error names the field that is not allowed and what to set instead; no file has been read then. Requests with
// the connection have the limits of package bounded.
func (r Rules) Parse(data []byte) (*rest.Config, error) {
	content, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("is not a kubeconfig: %w", err)
	}
	if err := r.allows(content); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*content, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("is not a usable kubeconfig: %w: set current-context, and its cluster and user", err)
	}
	r.Bound(config)
	return config, nil
}

// Bound applies the limits of package bounded to requests with a connection.
func (r Rules) Bound(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded.RoundTripper(next, r.Answer) })
}

// allows returns an error if the current context requires the manager to read a file, run a program or use a proxy.
func (r Rules) allows(content *api.Config) error {
	chosen := content.Contexts[content.CurrentContext]
	if chosen == nil {
		return errors.New("is not a usable kubeconfig: current-context must name one of its contexts")
	}
	user, cluster := content.AuthInfos[chosen.AuthInfo], content.Clusters[chosen.Cluster]
	if user == nil {
		user = &api.AuthInfo{}
	}
	if cluster == nil {
		cluster = &api.Cluster{}
	}
	for _, file := range []struct{ field, name, instead string }{
		{"tokenFile", user.TokenFile, "token"},
		{"client-certificate", user.ClientCertificate, "client-certificate-data"},
		{"client-key", user.ClientKey, "client-key-data"},
		{"certificate-authority", cluster.CertificateAuthority, "certificate-authority-data"},
	} {
		if file.name != "" {
			return fmt.Errorf("may not set %s, because the manager reads no files: set %s (kubectl config view --flatten embeds files)", file.field, file.instead)
		}
	}
	switch {
	case user.Exec != nil:
		return errors.New("may not set exec, because the manager runs no programs: set token, or client-certificate-data and client-key-data")
	case user.AuthProvider != nil:
		return errors.New("may not set auth-provider, because the manager runs no programs: set token, or client-certificate-data and client-key-data")
	case !r.allowsProxy(cluster.ProxyURL):
		return errors.New("may not set proxy-url, because the administrator chooses proxies: remove it, and set HTTPS_PROXY in the manager's Deployment, " +
			"or allow the proxy's host with the manager's flag --allowed-proxies")
	}
	return nil
}

// allowsProxy reports whether there is no proxy or an allowed one.
func (r Rules) allowsProxy(named string) bool {
	if named == "" {
		return true
	}
	proxy, err := url.Parse(named)
	return err == nil && slices.ContainsFunc(r.Proxies, func(allowed string) bool {
		return proxy.Hostname() != "" && (strings.EqualFold(allowed, proxy.Host) || strings.EqualFold(allowed, proxy.Hostname()))
	})
}
