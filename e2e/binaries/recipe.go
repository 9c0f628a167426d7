// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/tool"
)

// recipe returns how a program is built.
func (b *Builder) recipe(name string) (tool.Recipe, error) {
	all := slices.Concat(clusterAPIPrograms(b.CAPI), singlePrograms(b.CAPV), programs.Recipes())
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	// Simulators, and programs that run in machines, are commands of this module.
	if _, err := os.Stat(filepath.Join(b.Root, "e2e", "cmd", name, "main.go")); err == nil {
		return tool.Recipe{Name: name, Folder: "e2e", Package: "./cmd/" + name, Flags: tool.NoFlags, Estimate: 10 * time.Second, Ours: true}, nil
	}
	if provider, ok := strings.CutPrefix(name, providerPrefix); ok {
		folder := "providers/" + provider
		if _, err := os.Stat(filepath.Join(b.Root, folder, "go.mod")); err != nil {
			return tool.Recipe{}, fmt.Errorf("building %s: no provider found in %s", name, folder)
		}
		return tool.Recipe{Name: name, Folder: folder, Package: ".", Flags: stamped, Estimate: 2 * time.Minute, Ours: true}, nil
	}
	names := make([]string, 0, len(all))
	for _, r := range all {
		names = append(names, r.Name)
	}
	return tool.Recipe{}, fmt.Errorf("unknown program %q: must be one of %s, a directory of e2e/cmd, or %s<provider>", name, strings.Join(names, ", "), providerPrefix)
}

// singlePrograms returns recipes of programs that have nothing in common. upstream is the release of upstream's vSphere provider; "" means
// the default.
func singlePrograms(upstream string) []tool.Recipe {
	const lint = "github.com/golangci/golangci-lint/v2"
	return []tool.Recipe{
		{
			Name: GolangciLint, Package: lint + "/cmd/golangci-lint", Module: lint, Version: "v2.15.0",
			Flags: tool.NoFlags, Estimate: 3 * time.Minute,
		},
		{
			Name: UpstreamVSphere, Folder: upstreamVSphereFolder(upstream), Package: upstreamVSphereModule, Module: upstreamVSphereModule,
			Flags:    func(version string) string { return tool.GitVersion(upstreamVSphereModule+"/pkg/version", version) },
			Estimate: 4 * time.Minute,
		},
		{
			// It reports the version of its own library.
			Name: InClusterIPAM, Folder: inClusterIPAMFolder, Package: inClusterIPAMModule, Module: inClusterIPAMModule,
			Flags: tool.NoFlags, Estimate: 2 * time.Minute,
		},
		{
			Name: LoadBalancer, Folder: "providers/harvester", Package: "./cmd/load-balancer",
			Flags: stamped, Estimate: time.Minute, Ours: true,
		},
		{
			Name: CloudProvider, Folder: "providers/harvester", Package: "./cmd/cloud-provider",
			Flags: stamped, Estimate: time.Minute, Ours: true,
		},
	}
}

// clusterAPIPrograms returns recipes of Cluster API's managers, which are always built because they are published only in images. version
// is a published version; "" means the repository's version.
func clusterAPIPrograms(version string) []tool.Recipe {
	program := func(name, pkg string, estimate time.Duration) tool.Recipe {
		r := tool.Recipe{
			Name: name, Folder: clusterAPIBuildFolder, Package: path.Join(clusterAPIModule, pkg), Module: clusterAPIModule, Version: version,
			Flags: func(version string) string { return tool.GitVersion(clusterAPIModule+"/version", version) }, Estimate: estimate,
		}
		if version != "" {
			r.Folder = ""
		}
		return r
	}
	return []tool.Recipe{
		program(CAPICore, CAPICoreFolder(version), 2*time.Minute),
		program(CAPIKubeadmBootstrap, "bootstrap/kubeadm", 10*time.Second),
		program(CAPIKubeadmControlPlane, "controlplane/kubeadm", 10*time.Second),
		program(Clusterctl, "cmd/clusterctl", 30*time.Second),
	}
}

// CAPICoreFolder returns the folder of the core manager in a version of Cluster API.
func CAPICoreFolder(version string) string {
	if strings.HasPrefix(version, "v1.13.") {
		return "."
	}
	return "core"
}

// stamped makes a program of ours report its release and commit. Programs that are built for tests do not report them, because every
// commit would link them again.
func stamped(string) string {
	release := os.Getenv(ReleaseVariable)
	if release == "" {
		return ""
	}
	return tool.SetStrings(versionPackage, "release", release, "commit", cmp.Or(os.Getenv(CommitVariable), "unknown"))
}

// upstreamVSphereFolder returns the folder of the module that requires a release: the last one for Cluster API's v1beta1 contract, or one
// for v1beta2.
func upstreamVSphereFolder(version string) string {
	if version == "" {
		return "e2e/build/capv"
	}
	return "e2e/build/capv-v1beta2"
}
