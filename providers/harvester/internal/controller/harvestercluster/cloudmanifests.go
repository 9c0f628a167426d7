// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

const (
	// CloudProviderRole is Harvester's ClusterRole for cloud providers and CSI drivers. It permits deleting any volume and is therefore
	// bound only in the namespace of the cluster's virtual machines.
	CloudProviderRole = "harvesterhci.io:cloudprovider"
	// cloudProviderNamespace is the namespace of the cloud provider in the workload cluster.
	cloudProviderNamespace = metav1.NamespaceSystem
)

// MachinesServer returns the URL at which machines reach Harvester's API server: the address of the Service that exposes
// Harvester, or here if the Service is nil or has no address.
func MachinesServer(expose *corev1.Service, here string) string {
	if expose != nil {
		if address := expose.Annotations[lbv1.AddressesAnnotation]; net.ParseIP(address) != nil {
			return "https://" + net.JoinHostPort(address, "6443")
		}
	}
	return here
}

// CloudProviderKubeconfig returns the cloud provider's kubeconfig. The cloud provider looks for its virtual machines in the namespace of
// the context.
func CloudProviderKubeconfig(server, inNamespace string, token, ca []byte) ([]byte, error) {
	const name = "harvester"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: string(token)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: inNamespace}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// UsesSecret reports whether the manifests contain the Secret of that name, or an object that mounts it.
func UsesSecret(manifests, secret string) bool {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		document, err := reader.Read()
		if err != nil {
			return false
		}
		object := map[string]any{}
		if secretOf(document, secret) != nil || yaml.Unmarshal(document, &object) == nil && mounts(object, secret) {
			return true
		}
	}
}

// mounts reports whether any volume of a manifest refers to the Secret.
func mounts(value any, secret string) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if key == "secretName" && inner == secret || mounts(inner, secret) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if mounts(inner, secret) {
				return true
			}
		}
	}
	return false
}

// WithKubeconfig stores a kubeconfig in the Secret of that name within the manifests, and adds the Secret if it is missing. All other
// documents stay byte for byte the same.
func WithKubeconfig(manifests, secret, key string, kubeconfig []byte) (string, error) {
	var documents []string
	found := false
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("reading manifests: %w", err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if held := secretOf(document, secret); held != nil {
			found = true
			if document, err = render(held, key, kubeconfig); err != nil {
				return "", err
			}
		}
		documents = append(documents, strings.Trim(string(document), "\n")+"\n")
	}
	if !found {
		added := &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: cloudProviderNamespace, Name: secret}, Type: corev1.SecretTypeOpaque,
		}
		document, err := render(added, key, kubeconfig)
		if err != nil {
			return "", err
		}
		documents = append(documents, string(document))
	}
	return strings.Join(documents, "---\n"), nil
}

// secretOf returns the document if it is the named Secret. It returns nil for any other or unreadable document.
func secretOf(document []byte, name string) *corev1.Secret {
	secret := &corev1.Secret{}
	if err := yaml.Unmarshal(document, secret); err != nil || secret.APIVersion != "v1" || secret.Kind != "Secret" ||
		secret.Name != name || secret.Namespace != cloudProviderNamespace {
		return nil
	}
	return secret
}

func render(secret *corev1.Secret, key string, kubeconfig []byte) ([]byte, error) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[key] = kubeconfig
	delete(secret.StringData, key)
	document, err := yaml.Marshal(secret)
	if err != nil {
		return nil, fmt.Errorf("writing Secret %s: %w", secret.Name, err)
	}
	return document, nil
}
