// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// recipe says how one program is built.
type recipe struct {
	name     string
	folder   string // the module to build in, below the repository's root
	pkg      string // the package to build
	module   string // the module whose version the program reports; "" when none
	version  string // of a module that builds alone as it was published; "" where folder says it
	ldflags  func(version string) string
	estimate time.Duration // of a build with an empty Go build cache, on two cores
	// always is set where the sources are ours: Go's build cache knows better
	// than a stamp whether they changed.
	always bool
	// published says where the program can be downloaded; nil when nobody publishes it.
	published func(s sites, name, version string, t toolchain) *release
}

func plain(string) string { return "" }

// kubernetesVersion sets the version that Kubernetes programs report; without
// it they claim v0.0.0, which clients refuse.
func kubernetesVersion(version string) string {
	major, minor := majorMinor(version)
	return setStrings("k8s.io/component-base/version", "gitVersion", version,
		"gitMajor", major, "gitMinor", minor, "gitTreeState", "clean")
}

func clusterAPIVersion(version string) string {
	major, minor := majorMinor(version)
	return setStrings(clusterAPIModule+"/version", "gitVersion", version,
		"gitMajor", major, "gitMinor", minor, "gitTreeState", "clean")
}

func majorMinor(version string) (major, minor string) {
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "", "")
	return parts[0], parts[1]
}

// source is what errors call the program and where it comes from.
func (r recipe) source() string {
	if r.version != "" {
		return r.name + " from " + r.pkg + "@" + r.version
	}
	return r.name + " in " + r.folder
}

// setStrings renders linker flags that set variables of a package; pairs
// alternates names and values.
func setStrings(pkg string, pairs ...string) string {
	var flags []string
	for pair := range slices.Chunk(pairs, 2) {
		flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, pair[0], pair[1]))
	}
	return strings.Join(flags, " ")
}

// recipe looks up how a program is built.
func (b *Builder) recipe(name string) (recipe, error) {
	for _, r := range thirdParty() {
		if r.name == name {
			return r, nil
		}
	}
	if provider, ok := strings.CutPrefix(name, providerPrefix); ok {
		folder := "providers/" + provider
		if _, err := os.Stat(filepath.Join(b.Root, folder, "go.mod")); err != nil {
			return recipe{}, fmt.Errorf("building %s: there is no provider in %s", name, folder)
		}
		return recipe{name: name, folder: folder, pkg: ".", ldflags: plain, estimate: 2 * time.Minute, always: true}, nil
	}
	return recipe{}, fmt.Errorf("no program is called %q; there are %s and %s<provider>",
		name, strings.Join(thirdPartyNames(), ", "), providerPrefix)
}

func thirdPartyNames() []string {
	var names []string
	for _, r := range thirdParty() {
		names = append(names, r.name)
	}
	return names
}

func thirdParty() []recipe {
	kubernetes := func(name string, estimate time.Duration) recipe {
		return recipe{
			name: name, folder: kubernetesBuildFolder, pkg: kubernetesModule + "/cmd/" + name,
			module: kubernetesModule, ldflags: kubernetesVersion, estimate: estimate, published: publishedKubernetes,
		}
	}
	clusterAPI := func(name, pkg string, estimate time.Duration) recipe {
		return recipe{
			name: name, folder: clusterAPIBuildFolder, pkg: clusterAPIModule + "/" + pkg,
			module: clusterAPIModule, ldflags: clusterAPIVersion, estimate: estimate,
		}
	}
	return append([]recipe{
		{
			name: Etcd, folder: "e2e/build/etcd", pkg: ".", module: "go.etcd.io/etcd/server/v3",
			ldflags: plain, estimate: time.Minute, published: publishedEtcd,
		},
		kubernetes(APIServer, 4*time.Minute),
		kubernetes(Kubectl, 30*time.Second),
		kubernetes(ControllerManager, time.Minute),
		clusterAPI(CAPICore, "core", 2*time.Minute),
		clusterAPI(CAPIKubeadmBootstrap, "bootstrap/kubeadm", 10*time.Second),
		clusterAPI(CAPIKubeadmControlPlane, "controlplane/kubeadm", 10*time.Second),
		kubernetes(Kubeadm, 20*time.Second),
		kubernetes(Kubelet, time.Minute),
		kubernetes(Scheduler, 20*time.Second),
		kubernetes(Proxy, 20*time.Second),
		golangciLint(),
		clusterAPI(Clusterctl, "cmd/clusterctl", 30*time.Second),
	}, nodePrograms()...)
}

func golangciLint() recipe {
	const module = "github.com/golangci/golangci-lint/v2"
	return recipe{
		name: GolangciLint, pkg: module + "/cmd/golangci-lint", module: module, version: "v2.15.0",
		ldflags: plain, estimate: 3 * time.Minute,
	}
}
