// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	modversion "golang.org/x/mod/module"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/shared/machines"
)

// matrixPage returns the page of the versions that the project is built and tested with.
func matrixPage(root string) (map[string]string, error) {
	tables := map[string][][]string{}
	for name, read := range map[string]func(root string) ([][]string, error){
		"ClusterAPI": clusterAPIVersions, "Infrastructure": infrastructureVersions, "Tested": testedVersions, "Libraries": libraries, "Images": templateVersions,
	} {
		var err error
		if tables[name], err = read(root); err != nil {
			return nil, err
		}
	}
	page, err := fill("support-matrix.md", tables)
	return map[string]string{"support-matrix.md": page}, err
}

// clusterAPIVersions returns the rows of the versions of Cluster API.
func clusterAPIVersions(root string) ([][]string, error) {
	required, err := requirements(filepath.Join(root, "shared"))
	if err != nil {
		return nil, err
	}
	built := slices.IndexFunc(required, func(r modversion.Version) bool { return r.Path == "sigs.k8s.io/cluster-api" })
	if built < 0 {
		return nil, fmt.Errorf("shared/go.mod does not require Cluster API")
	}
	series, err := newestSeries(root)
	if err != nil {
		return nil, err
	}
	return append([][]string{
		{"Cluster API that the providers are built with", code(required[built].Version), code("shared/go.mod")},
		{fmt.Sprintf("Contract of release series v%d.%d", series.Major, series.Minor), code(series.Contract), code("providers/*/metadata.yaml")},
	}, controlPlanes()...), nil
}

// controlPlanes returns the rows of the control-plane providers with which single machines are moved.
func controlPlanes() [][]string {
	var rows [][]string
	for _, kind := range machines.ControlPlaneKinds() {
		of := kind.Facts()
		rows = append(rows, []string{fmt.Sprintf("Control plane provider `%s` for `rebalance: SurgeOne`", of.Provider),
			code(of.OldestTested) + " and later patch releases of the same minor version", code("shared/machines/" + of.Provider + ".go")})
	}
	return rows
}

// newestSeries returns the newest release series, which must be the same for all providers.
func newestSeries(root string) (clusterctlv1.ReleaseSeries, error) {
	files, err := readSources(root, "providers/*/metadata.yaml")
	if err != nil {
		return clusterctlv1.ReleaseSeries{}, err
	}
	var newest []clusterctlv1.ReleaseSeries
	for _, file := range files {
		var metadata clusterctlv1.Metadata
		if err := yaml.UnmarshalStrict(file.content, &metadata); err != nil {
			return clusterctlv1.ReleaseSeries{}, fmt.Errorf("reading %s: %w", file.path, err)
		}
		newest = append(newest, metadata.ReleaseSeries[0])
	}
	if newest = slices.Compact(newest); len(newest) != 1 {
		return clusterctlv1.ReleaseSeries{}, fmt.Errorf("the newest release series of the providers differ: %v", newest)
	}
	return newest[0], nil
}

// infrastructureVersions returns the rows of what the providers manage. Each version is found in a file.
func infrastructureVersions(root string) ([][]string, error) {
	var rows [][]string
	for _, one := range []struct{ what, file, pattern string }{
		{"vCenter: oldest major version with cluster modules", "providers/vsphere/internal/vcenter/modules.go", `firstWithModules = (\d+)`},
		{"vCenter that tests simulate", "providers/vsphere/simulator/options.go", `vcsim's own, ([\d.]+)\.\n`},
		{"vCenter that tests of cluster modules simulate", "providers/vsphere/internal/setup/clustermodule_test.go", `WithVersion\("(8[\d.]+)"\)`},
		{"Bare-metal operator that tests run, with a simulated Ironic", "Makefile", `BMO_VERSION := (\S+)`},
		{"Ironic standalone operator of the quick start, which chooses the version of Ironic", "docs/quick-start-metal3.md", `ironic-standalone-operator/releases/download/(v[\d.]+)/`},
		{"KubeVirt that tests run, with a simulated Harvester", "Makefile", `KUBEVIRT_VERSION := (\S+)`},
		{"Harvester whose time until a lost machine starts elsewhere is simulated", "providers/harvester/simulator/internal/controllers/delays.go", `DefaultReset is the default of Harvester ([\d.]+)`},
		{"Kubernetes of workload clusters: oldest in which a reboot of a bare-metal host does not delete its Node", "providers/metal3/internal/controller/metal3remediation/backup.go", `taintSupportedSince = "([\d.]+)"`},
	} {
		read, err := readSources(root, one.file)
		if err != nil {
			return nil, err
		}
		found := regexp.MustCompile(one.pattern).FindSubmatch(read[0].content)
		if found == nil {
			return nil, fmt.Errorf("%s has no version that matches %s", one.file, one.pattern)
		}
		rows = append(rows, []string{one.what, code(string(found[1])), code(one.file)})
	}
	return rows, nil
}

// testedVersions returns the rows of the programs that tests run.
func testedVersions(root string) ([][]string, error) {
	rows := [][]string{
		{"Kubernetes of management and workload clusters", code(binaries.KubernetesVersion), code("e2e/binaries")},
		{"etcd", code(binaries.EtcdVersion), code("e2e/binaries")},
	}
	files, err := readSources(root, "e2e/go.mod", "e2e/build/*/go.mod")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		required, err := requirements(filepath.Join(root, filepath.FromSlash(path.Dir(file.path))))
		if err != nil {
			return nil, err
		}
		for _, r := range required {
			// e2e also requires the libraries of the products, which are below.
			if file.path != "e2e/go.mod" || slices.Contains([]string{"sigs.k8s.io/kind", "sigs.k8s.io/cluster-api/test", "helm.sh/helm/v3"}, r.Path) {
				rows = append(rows, []string{code(r.Path), code(r.Version), code(file.path)})
			}
		}
	}
	return rows, nil
}

// libraries returns the rows of the libraries of Kubernetes and of the infrastructures that the products are built with.
func libraries(root string) ([][]string, error) {
	modules := []string{"shared/api", "shared", plugin}
	for _, name := range providers(root) {
		modules = append(modules, "providers/"+name+"/api", "providers/"+name)
	}
	users := map[modversion.Version][]string{}
	for _, module := range modules {
		required, err := requirements(filepath.Join(root, filepath.FromSlash(module)))
		if err != nil {
			return nil, err
		}
		for _, r := range required {
			if regexp.MustCompile(`^(k8s\.io|sigs\.k8s\.io|kubevirt\.io|github\.com/(metal3-io|vmware))/`).MatchString(r.Path) {
				users[r] = append(users[r], module)
			}
		}
	}
	var rows [][]string
	for _, r := range slices.SortedFunc(maps.Keys(users), func(a, b modversion.Version) int { return strings.Compare(a.Path, b.Path) }) {
		rows = append(rows, []string{code(r.Path), code(r.Version), codes(users[r])})
	}
	return rows, nil
}

// requirements returns the modules that the go.mod of a folder requires directly or for its tools, without those of the repository.
func requirements(folder string) (all []modversion.Version, err error) {
	name := filepath.Join(folder, "go.mod")
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range file.Require {
		tool := slices.ContainsFunc(file.Tool, func(t *modfile.Tool) bool { return strings.HasPrefix(t.Path+"/", r.Mod.Path+"/") })
		if (tool || !r.Indirect) && !strings.HasPrefix(r.Mod.Path, module) {
			all = append(all, r.Mod)
		}
	}
	return all, nil
}

// templateVersions returns the rows of the images that the templates install, with the defaults of their variables.
func templateVersions(root string) ([][]string, error) {
	files, err := readSources(root, "templates/*/*.yaml")
	if err != nil {
		return nil, err
	}
	users := map[[3]string][]string{}
	for _, file := range files {
		for _, found := range regexp.MustCompile(`image: +([a-z0-9./-]+):(?:(v[0-9][^\s"]*)|\$\{(\w+):=([^}]+)\})`).FindAllStringSubmatch(string(file.content), -1) {
			image := [3]string{found[1], found[2] + found[4], found[3]}
			if provider := path.Base(path.Dir(file.path)); !slices.Contains(users[image], provider) {
				users[image] = append(users[image], provider)
			}
		}
	}
	var rows [][]string
	for _, image := range slices.SortedFunc(maps.Keys(users), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		rows = append(rows, []string{code(image[0]), code(image[1]), code(image[2]), codes(users[image])})
	}
	return rows, nil
}
