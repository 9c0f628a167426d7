// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs has the recipes of third-party programs: those of Kubernetes and etcd, and those that are built only if their images
// cannot be pulled.
package programs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/tool"
)

// Names of the programs of Kubernetes and etcd.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Kubectl           = "kubectl"
	Kubeadm           = "kubeadm"
	Kubelet           = "kubelet"
	Scheduler         = "kube-scheduler"
	Proxy             = "kube-proxy"
)

// Names of the programs that are published in images.
const (
	CoreDNS    = "coredns"
	KubeVIP    = "kube-vip"
	Containerd = "containerd"
	Shim       = "containerd-shim-runc-v2"
	Ctr        = "ctr"
	Crictl     = "crictl"
	// Pause keeps the namespaces of a pod open.
	Pause = "pause"
	// BoundedRunc runs containers on a host that lacks a capability.
	BoundedRunc = "bounded-runc"

	certManagerPrefix = "cert-manager-"
	cniPrefix         = "cni-"
)

// Modules that are built in separate folders, which pin their dependencies.
const (
	EtcdFolder        = "e2e/offline/build/etcd"
	EtcdModule        = "go.etcd.io/etcd/server/v3"
	KubernetesFolder  = "e2e/offline/build/kubernetes"
	KubernetesModule  = "k8s.io/kubernetes"
	CertManagerFolder = "e2e/offline/build/certmanager"
	CertManagerModule = "github.com/cert-manager/cert-manager"
	KubeVIPFolder     = "e2e/offline/build/kubevip"
	KubeVIPModule     = "github.com/kube-vip/kube-vip"
)

// CertManager returns the name of the program of a part of cert-manager: controller, webhook or cainjector.
func CertManager(part string) string { return certManagerPrefix + part }

// CNI returns the name of a network plugin's program.
func CNI(plugin string) string { return cniPrefix + plugin }

// CNIPlugins returns the network plugins of a node for the network of its pods.
func CNIPlugins() []string { return []string{"host-local", "loopback", "portmap", "ptp"} }

// CertManagerParts returns the Deployments of cert-manager.
func CertManagerParts() []string { return []string{"cainjector", "controller", "webhook"} }

// Node returns the programs of a node, including those in its images.
func Node() []string {
	names := []string{
		Kubeadm, Kubelet, Kubectl, Containerd, Shim, Ctr, Crictl,
		Etcd, APIServer, ControllerManager, Scheduler, Proxy, CoreDNS, Pause,
	}
	for _, plugin := range CNIPlugins() {
		names = append(names, CNI(plugin))
	}
	return names
}

// Recipes returns the recipes of all programs here.
func Recipes() []tool.Recipe {
	const criTools = "sigs.k8s.io/cri-tools"
	return slices.Concat(kubernetesPrograms(), containerdPrograms(), cniPrograms(), certManagerPrograms(), ownPrograms(), []tool.Recipe{
		{Name: Etcd, Folder: EtcdFolder, Package: ".", Module: EtcdModule, Flags: tool.NoFlags, Estimate: time.Minute},
		{
			Name: CoreDNS, Folder: "e2e/offline/build/coredns", Package: ".", Module: "github.com/coredns/coredns",
			Flags: tool.NoFlags, Estimate: time.Minute,
		},
		{
			Name: Crictl, Folder: "e2e/offline/build/critools", Package: criTools + "/cmd/crictl", Module: criTools,
			Flags: versionIn(criTools+"/pkg/version", "Version"), Estimate: 30 * time.Second,
		},
		{
			Name: KubeVIP, Folder: KubeVIPFolder, Package: KubeVIPModule, Module: KubeVIPModule,
			Flags: versionIn("main", "Version"), Estimate: 2 * time.Minute,
		},
	})
}

// versionIn makes a program report its version, which is in a variable of a package.
func versionIn(pkg, variable string) func(version string) string {
	return func(version string) string { return tool.SetStrings(pkg, variable, version) }
}

func kubernetesPrograms() []tool.Recipe {
	var recipes []tool.Recipe
	for name, estimate := range map[string]time.Duration{
		APIServer: 4 * time.Minute, Kubectl: 30 * time.Second, ControllerManager: time.Minute,
		Kubeadm: 20 * time.Second, Kubelet: time.Minute, Scheduler: 20 * time.Second, Proxy: 20 * time.Second,
	} {
		recipes = append(recipes, tool.Recipe{
			Name: name, Folder: KubernetesFolder, Package: KubernetesModule + "/cmd/" + name, Module: KubernetesModule,
			Flags:    func(version string) string { return tool.GitVersion("k8s.io/component-base/version", version) },
			Estimate: estimate,
		})
	}
	return recipes
}

func ownPrograms() []tool.Recipe {
	var recipes []tool.Recipe
	for _, name := range []string{Pause, BoundedRunc} {
		recipes = append(recipes, tool.Recipe{
			Name: name, Folder: "e2e", Package: "./offline/cmd/" + name, Flags: tool.NoFlags, Estimate: 10 * time.Second, Ours: true,
		})
	}
	return recipes
}

func cniPrograms() []tool.Recipe {
	const module = "github.com/containernetworking/plugins"
	var recipes []tool.Recipe
	for _, plugin := range CNIPlugins() {
		kind := cmp.Or(map[string]string{"host-local": "ipam", "portmap": "meta"}[plugin], "main")
		recipes = append(recipes, tool.Recipe{
			Name: CNI(plugin), Package: fmt.Sprintf("%s/plugins/%s/%s", module, kind, plugin), Module: module, Version: "v1.9.1",
			Flags: versionIn(module+"/pkg/utils/buildversion", "BuildVersion"), Estimate: 10 * time.Second,
		})
	}
	return recipes
}

func containerdPrograms() []tool.Recipe {
	const module = "github.com/containerd/containerd/v2"
	var recipes []tool.Recipe
	for _, name := range []string{Containerd, Shim, Ctr} {
		recipes = append(recipes, tool.Recipe{
			Name: name, Package: module + "/cmd/" + name, Module: module, Version: "v2.3.4",
			Flags: versionIn(module+"/version", "Version"), Estimate: time.Minute,
		})
	}
	return recipes
}

func certManagerPrograms() []tool.Recipe {
	var recipes []tool.Recipe
	for _, part := range CertManagerParts() {
		recipes = append(recipes, tool.Recipe{
			Name: CertManager(part), Folder: CertManagerFolder, Package: CertManagerModule + "/cmd/" + part, Module: CertManagerModule,
			Flags: versionIn(CertManagerModule+"/pkg/util", "AppVersion"), Estimate: time.Minute,
		})
	}
	return recipes
}
