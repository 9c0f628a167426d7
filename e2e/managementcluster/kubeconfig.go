// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigName is the name of the cluster and the context in kubeconfigs.
const kubeconfigName = "faultline"

// writeKubeconfig writes a kubeconfig that is equivalent to config.
func writeKubeconfig(path string, config *rest.Config) error {
	user := &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			kubeconfigName: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{kubeconfigName: user},
		Contexts:       map[string]*clientcmdapi.Context{kubeconfigName: {Cluster: kubeconfigName, AuthInfo: kubeconfigName}},
		CurrentContext: kubeconfigName,
	}, path)
	if err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}
