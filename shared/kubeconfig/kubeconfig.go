// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig reads kubeconfigs that users of the management cluster wrote. Tools of Kubernetes take a kubeconfig as their
// user's own: they read the files and run the programs that it names. For a manager those are the manager's files, the token of
// its ServiceAccount among them, and it would send them to the server of the author.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Parse returns the connection that a kubeconfig describes with its current context. Certificates, keys and tokens must be in the
// kubeconfig itself. The error names the field that may not be set, and what to set in its place; no file has been read then.
func Parse(data []byte) (*rest.Config, error) {
	content, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("is no kubeconfig: %w", err)
	}
	if err := inline(content); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*content, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("is no usable kubeconfig: %w: set current-context, and cluster and user of that context", err)
	}
	return config, nil
}

// inline refuses what the manager would have to read, run or connect through for the current context.
func inline(content *api.Config) error {
	chosen := content.Contexts[content.CurrentContext]
	if chosen == nil {
		return errors.New("is no usable kubeconfig: current-context must name one of its contexts")
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
			return fmt.Errorf("may not set %s, as the manager reads no files: set %s (kubectl config view --flatten embeds files)", file.field, file.instead)
		}
	}
	switch {
	case user.Exec != nil:
		return errors.New("may not set exec, as the manager runs no programs: set token, or client-certificate-data and client-key-data")
	case user.AuthProvider != nil:
		return errors.New("may not set auth-provider, as the manager runs no programs: set token, or client-certificate-data and client-key-data")
	case cluster.ProxyURL != "":
		return errors.New("may not set proxy-url, as the administrator chooses the manager's proxy: remove it, and set HTTPS_PROXY in the manager's Deployment")
	}
	return nil
}

// Reader returns a reader that refuses the kubeconfig Secrets of Clusters that Parse refuses. It is for code that reads such a
// Secret and parses it itself.
func Reader(secrets client.Reader) client.Reader { return reader{secrets} }

type reader struct{ client.Reader }

// Get implements client.Reader.
func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	found, ok := o.(*corev1.Secret)
	if !ok {
		return nil
	}
	data, ok := found.Data[secret.KubeconfigDataName]
	if !ok {
		return nil
	}
	if _, err := Parse(data); err != nil {
		return fmt.Errorf("key %s of Secret %s %w", secret.KubeconfigDataName, key, err)
	}
	return nil
}
