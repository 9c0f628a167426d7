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
	// CloudProviderRole is the ClusterRole that Harvester has for cloud providers and CSI drivers. Whoever has it may delete any volume, so that it is bound in
	// the namespace of the cluster's virtual machines only.
	CloudProviderRole = "harvesterhci.io:cloudprovider"
	// cloudProviderNamespace is where the cloud provider runs in a cluster.
	cloudProviderNamespace = metav1.NamespaceSystem
)

// MachinesServer is where machines reach the API server of Harvester: at the address of the Service by which Harvester is reached, which may be nil,
// else where it is reached from here.
func MachinesServer(expose *corev1.Service, here string) string {
	if expose != nil {
		if address := expose.Annotations[lbv1.AddressesAnnotation]; net.ParseIP(address) != nil {
			return "https://" + net.JoinHostPort(address, "6443")
		}
	}
	return here
}

// CloudProviderKubeconfig is that of the cloud provider, which finds its virtual machines in the namespace of the context.
func CloudProviderKubeconfig(server, inNamespace string, token, ca []byte) ([]byte, error) {
	const name = "harvester"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: string(token)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: inNamespace}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// UsesSecret reports whether manifests have the Secret of that name, or one that mounts it.
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

// mounts reports whether a volume anywhere in a manifest is of the Secret.
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

// WithKubeconfig puts a kubeconfig into the Secret of that name among manifests, and adds the Secret if there is none. What else there is
// stays as it is, to the letter.
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

// secretOf is the document if it is that Secret. What cannot be read is none.
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
