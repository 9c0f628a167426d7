// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"slices"
	"time"
)

// Names of the programs that a real cluster needs beyond those of the playground.
const (
	Kubeadm    = "kubeadm"
	Kubelet    = "kubelet"
	Scheduler  = "kube-scheduler"
	Proxy      = "kube-proxy"
	Clusterctl = "clusterctl"
	CoreDNS    = "coredns"
	KubeVIP    = "kube-vip"
	Containerd = "containerd"
	Shim       = "containerd-shim-runc-v2"
	Ctr        = "ctr"
	Crictl     = "crictl"
	// Pause holds the namespaces of a pod open.
	Pause = "pause"
	// BoundedRunc runs containers on a host that lacks a capability.
	BoundedRunc = "bounded-runc"
	// MachineInit makes a container look like a virtual machine to what boots in it.
	MachineInit = "machine-init"
	// VCSim is the simulated vCenter as a program of its own.
	VCSim = "vcsim"
	// HostSim is the simulated bare-metal operator as a program of its own.
	HostSim = "hostsim"

	certManagerPrefix = "cert-manager-"
	cniPrefix         = "cni-"

	certManagerBuildFolder = "e2e/build/certmanager"
	certManagerModule      = "github.com/cert-manager/cert-manager"
	kubeVIPBuildFolder     = "e2e/build/kubevip"
	kubeVIPModule          = "github.com/kube-vip/kube-vip"
)

// CertManager is the name of the program of a part of cert-manager:
// controller, webhook or cainjector.
func CertManager(part string) string { return certManagerPrefix + part }

// CNI is the name of a network plugin's program.
func CNI(plugin string) string { return cniPrefix + plugin }

// CNIPlugins are the network plugins of a node: those of its pods' network.
func CNIPlugins() []string { return []string{"host-local", "loopback", "portmap", "ptp"} }

// CertManagerParts are the Deployments of cert-manager.
func CertManagerParts() []string { return []string{"cainjector", "controller", "webhook"} }

// Node are the programs that a node is made of, those in its images included.
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

// Machine are the programs that a machine which boots has over a node.
func Machine() []string { return []string{MachineInit, KubeVIP} }

// nodePrograms are the recipes of what runs in real clusters only.
func nodePrograms() []recipe {
	recipes := slices.Concat(containerdPrograms(), ownPrograms(), certManagerPrograms())
	for _, plugin := range CNIPlugins() {
		kind := map[string]string{"host-local": "ipam", "portmap": "meta"}[plugin]
		if kind == "" {
			kind = "main"
		}
		const module = "github.com/containernetworking/plugins"
		recipes = append(recipes, recipe{
			name: CNI(plugin), pkg: fmt.Sprintf("%s/plugins/%s/%s", module, kind, plugin),
			module: module, version: "v1.9.1", estimate: 10 * time.Second,
			ldflags: func(version string) string {
				return setStrings(module+"/pkg/utils/buildversion", "BuildVersion", version)
			},
		})
	}
	return append(recipes,
		recipe{
			name: Crictl, folder: "e2e/build/critools", pkg: "sigs.k8s.io/cri-tools/cmd/crictl", module: "sigs.k8s.io/cri-tools",
			estimate: 30 * time.Second,
			ldflags: func(version string) string {
				return setStrings("sigs.k8s.io/cri-tools/pkg/version", "Version", version)
			},
		},
		recipe{
			name: CoreDNS, folder: "e2e/build/coredns", pkg: ".", module: "github.com/coredns/coredns",
			ldflags: plain, estimate: time.Minute,
		},
		recipe{
			name: KubeVIP, folder: kubeVIPBuildFolder, pkg: kubeVIPModule, module: kubeVIPModule,
			ldflags:  func(version string) string { return setStrings("main", "Version", version) },
			estimate: 2 * time.Minute,
		},
	)
}

func containerdPrograms() []recipe {
	const module = "github.com/containerd/containerd/v2"
	var recipes []recipe
	for _, name := range []string{Containerd, Shim, Ctr} {
		recipes = append(recipes, recipe{
			name: name, pkg: module + "/cmd/" + name, module: module, version: "v2.3.4", estimate: time.Minute,
			ldflags: func(version string) string { return setStrings(module+"/version", "Version", version) },
		})
	}
	return recipes
}

func ownPrograms() []recipe {
	var recipes []recipe
	for _, name := range []string{Pause, BoundedRunc, MachineInit, VCSim, HostSim} {
		recipes = append(recipes, recipe{
			name: name, folder: "e2e", pkg: "./cmd/" + name, ldflags: plain, estimate: 10 * time.Second, always: true,
		})
	}
	return recipes
}

func certManagerPrograms() []recipe {
	var recipes []recipe
	for _, part := range CertManagerParts() {
		recipes = append(recipes, recipe{
			name: CertManager(part), folder: certManagerBuildFolder, pkg: certManagerModule + "/cmd/" + part,
			module: certManagerModule, estimate: time.Minute,
			ldflags: func(version string) string { return setStrings(certManagerModule+"/pkg/util", "AppVersion", version) },
		})
	}
	return recipes
}
