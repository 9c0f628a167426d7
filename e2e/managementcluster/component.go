// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// Component is a manager of the cluster: the content of its release, run as a process. A provider is added with one such value.
type Component struct {
	// Name is the name of the process, its log and its folder.
	Name string
	// Program is the path of the program.
	Program string
	// Config is the kustomize folder of the component's release. Its CRDs, RBAC rules, webhooks and ServiceAccount are created. The
	// program gets the arguments of its Deployment and runs as that ServiceAccount, so it has exactly the permissions of a release.
	Config string
	// Objects are created together with those of Config: objects that the manager needs, and third-party objects.
	Objects []*unstructured.Unstructured
	// Variables are the values of the ${VARIABLES} in Config.
	Variables map[string]string
	// Args follow the arguments of the Deployment and override them.
	Args []string
	// HealthArg is the argument for the address of the health endpoint; "" means that of Cluster API's managers.
	HealthArg string
	// Listen, unless nil, returns the arguments and additional environment that make a program without the flags of Cluster API's
	// managers serve on the cluster.
	Listen func(Endpoints) (args, env []string, err error)
	// InPod provides the program's namespace in a file, as in a pod. It requires Linux.
	InPod bool
	// APIServerFaults, unless nil, injects faults between the program and the API server.
	APIServerFaults *APIServerFaults
	// Version, unless empty, is the version that the program must report when it starts.
	Version string
	// Deployment also creates the Deployment of Config, without replicas, for clients that look for managers there, such as kubectl fd.
	Deployment bool
}

// Endpoints are the endpoints that a manager must serve.
type Endpoints struct {
	// Webhook is the port of its webhooks, Certificates the folder with their tls.crt and tls.key.
	Webhook      int
	Certificates string
	// Health and Diagnostics are addresses.
	Health, Diagnostics string
}

// topologyVariables enables the feature that ClusterClasses need.
func topologyVariables() map[string]string { return map[string]string{"CLUSTER_TOPOLOGY": "true"} }

// ClusterAPI returns the managers of Cluster API with ClusterClass support, from the source folder dir of the given version.
func ClusterAPI(programs binaries.Paths, dir, version string) []Component {
	manager := func(name, folder string) Component {
		return Component{
			Name: name, Program: programs[name], Version: version,
			Config:    filepath.Join(dir, filepath.FromSlash(folder), "config", "default"),
			Variables: topologyVariables(),
		}
	}
	return []Component{
		manager(binaries.CAPICore, binaries.CAPICoreFolder(version)),
		manager(binaries.CAPIKubeadmBootstrap, "bootstrap/kubeadm"),
		manager(binaries.CAPIKubeadmControlPlane, "controlplane/kubeadm"),
	}
}

// KubeadmVersion returns the flag with the version of KubeadmControlPlane for a provider's manager. The managers of ClusterAPI were not
// installed by clusterctl, so its inventory does not have the version.
func KubeadmVersion(version string) string { return "--kubeadm-control-plane-version=" + version }

// Provider returns the manager of one of our providers, from the repository at root.
func Provider(programs binaries.Paths, root, provider string) Component {
	name := binaries.Provider(provider)
	return Component{
		Name: name, Program: programs[name],
		Config:    filepath.Join(root, "providers", provider, "config", "default"),
		Variables: topologyVariables(),
	}
}
