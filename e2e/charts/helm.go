// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Helm returns the configuration for Helm's actions in a cluster. Releases are stored in the namespace.
func Helm(config *rest.Config, namespace string, log action.DebugLog) (*action.Configuration, error) {
	configuration := &action.Configuration{}
	if err := configuration.Init(access{config, namespace}, namespace, "secret", log); err != nil {
		return nil, fmt.Errorf("connecting helm: %w", err)
	}
	return configuration, nil
}

// access gives Helm access to an API server. It implements genericclioptions.RESTClientGetter.
type access struct {
	config    *rest.Config
	namespace string
}

func (a access) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(a.config), nil }

func (a access) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(a.config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

func (a access) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := a.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(client), nil
}

func (a access) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: a.namespace}})
}
