// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// Component is a manager of the cluster: what a release of it holds, run as a
// process. Adding a provider to the cluster takes one such value.
type Component struct {
	// Name is what the process, its log and its folder are called.
	Name string
	// Program is the file to run.
	Program string
	// Config is the kustomize folder that a release of the component is rendered
	// from. Its CRDs, RBAC rules, webhooks and ServiceAccount are created; the
	// arguments of its Deployment are given to the program, which runs as that
	// ServiceAccount and thus with no more rights than a release gives it.
	Config string
	// Objects are created with those of Config: what the manager needs, and what is
	// installed by others beside it.
	Objects []*unstructured.Unstructured
	// Variables are the values of the ${VARIABLES} in Config.
	Variables map[string]string
	// Args come after those of the Deployment and so override them.
	Args []string
	// HealthArg is the argument that takes the address of its health endpoint; "" is the one of Cluster API's managers.
	HealthArg string
	// Listen, unless nil, returns the arguments that put a program on the cluster which does not have the flags of Cluster API's managers,
	// and what is added to its environment.
	Listen func(Endpoints) (args, env []string, err error)
	// InPod has the program find its namespace in a file, as in a pod. It takes Linux.
	InPod bool
	// Disobedience, unless nil, stands between the program and the API server.
	Disobedience *Disobedience
	// Version, unless empty, is what the program must report when it starts.
	Version string
}

// Endpoints are where a manager is to serve.
type Endpoints struct {
	// Webhook is the port of its webhooks, Certificates the folder with the tls.crt and tls.key that they serve with.
	Webhook      int
	Certificates string
	// Health and Diagnostics are addresses.
	Health, Diagnostics string
}

// topologyVariables turn on the feature that ClusterClasses need.
func topologyVariables() map[string]string { return map[string]string{"CLUSTER_TOPOLOGY": "true"} }

// ClusterAPI are the managers of Cluster API itself with ClusterClass support, from
// its source folder dir of the given version.
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

// KubeadmVersion tells a provider's manager which control planes there are: the managers of ClusterAPI were not installed by clusterctl,
// whose inventory would say it.
func KubeadmVersion(version string) string { return "--kubeadm-control-plane-version=" + version }

// Provider is the manager of one of our providers, from the repository at root.
func Provider(programs binaries.Paths, root, provider string) Component {
	name := binaries.Provider(provider)
	return Component{
		Name: name, Program: programs[name],
		Config:    filepath.Join(root, "providers", provider, "config", "default"),
		Variables: topologyVariables(),
	}
}
