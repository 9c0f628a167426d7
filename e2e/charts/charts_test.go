// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint/support"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/docker"
)

// harvester is the provider's folder.
var harvester = filepath.Join(root, "providers", "harvester")

func TestHelmLint(t *testing.T) {
	t.Parallel()
	for _, name := range charts.Names() {
		for _, values := range variants()[name] {
			t.Run(name+" "+values, func(t *testing.T) {
				t.Parallel()
				lint := action.NewLint()
				lint.Strict, lint.WithSubcharts, lint.Namespace = true, true, namespace
				result := lint.Run([]string{filepath.Join(harvester, "charts", name)}, mustParse(t, values))
				for _, message := range result.Messages {
					if message.Severity > support.InfoSev {
						t.Error(message)
					}
				}
				NewWithT(t).Expect(result.TotalChartsLinted).To(BeNumerically(">", 0))
			})
		}
	}
}

func TestPackedChartHasReleaseVersion(t *testing.T) {
	t.Parallel()
	for _, name := range charts.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			file, err := charts.Pack(root, name, docker.Release{Version: "v3.1.0"}, t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(filepath.Base(file)).To(Equal(name + "-3.1.0.tgz"))
			packed, err := loader.Load(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(packed.Metadata.AppVersion).To(Equal("v3.1.0"))
			g.Expect(container(deployment(t, mustRender(t, packed, ``), name).Spec.Template.Spec).Image).To(Equal("docker.io/faultline/" + name + ":v3.1.0"))
			g.Expect(packed.Dependencies()).To(HaveLen(len(packed.Metadata.Dependencies)), "what it depends on is in it")
		})
	}
}

func TestInvalidChartVersionIsRejected(t *testing.T) {
	t.Parallel()
	_, err := charts.Load(root, charts.CloudProvider, "latest")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("chart harvester-cloud-provider in version latest")))
}

func TestEveryValueIsDocumented(t *testing.T) {
	t.Parallel()
	for _, name := range charts.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(filepath.Join(harvester, "charts", name, "README.md"))
			g.Expect(err).NotTo(HaveOccurred())
			c := load(t, name)
			for _, value := range valuesOf(c, "") {
				g.Expect(string(text)).To(ContainSubstring("`"+value+"`"), "README.md of %s", name)
			}
			for _, part := range c.Dependencies() {
				for _, value := range valuesOf(part, part.Name()+".") {
					g.Expect(string(text)).To(ContainSubstring("`"+value+"`"), "README.md of %s", name)
				}
			}
		})
	}
}

// valuesOf returns the values of a chart. Maps are expanded unless they are Kubernetes types.
func valuesOf(c *chart.Chart, prefix string) []string {
	kubernetes := []string{"resources", "nodeSelector", "affinity", "podSecurityContext", "securityContext", "updateStrategy"}
	var all []string
	var walk func(prefix string, values map[string]any)
	walk = func(prefix string, values map[string]any) {
		for name, value := range values {
			inner, isMap := value.(map[string]any)
			if !isMap || len(inner) == 0 || slices.Contains(kubernetes, name) {
				all = append(all, prefix+name)
				continue
			}
			if !slices.ContainsFunc(c.Dependencies(), func(part *chart.Chart) bool { return part.Name() == name }) {
				walk(prefix+name+".", inner)
			}
		}
	}
	walk(prefix, c.Values)
	slices.Sort(all)
	return all
}

func TestChartGrantsRequiredPermissions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), ``)
	shared := filepath.Join(root, "shared", "config", "rbac")
	g.Expect(get[rbacv1.ClusterRole](t, all, "ClusterRole", loadBalancer).Rules).To(
		Equal(rulesIn(t, filepath.Join(harvester, "config", "loadbalancer", "rbac", "role.yaml"))))
	g.Expect(get[rbacv1.ClusterRole](t, all, "ClusterRole", loadBalancer+"-diagnostics").Rules).To(
		Equal(rulesIn(t, filepath.Join(shared, "diagnostics_role.yaml"))))
	g.Expect(get[rbacv1.Role](t, all, "Role", loadBalancer+"-leader-election").Rules).To(
		Equal(rulesIn(t, filepath.Join(shared, "leader_election_role.yaml"))))
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		for _, object := range all {
			if object.GetKind() == kind {
				binding := get[rbacv1.ClusterRoleBinding](t, all, kind, object.GetName())
				g.Expect(binding.RoleRef.Name).To(Equal(object.GetName()))
				g.Expect(binding.Subjects).To(HaveLen(1))
				g.Expect(binding.Subjects[0].Name).To(Equal(deployment(t, all, loadBalancer).Spec.Template.Spec.ServiceAccountName))
			}
		}
	}
}

func rulesIn(t *testing.T, file string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := objects(string(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d objects, %v", file, len(all), err)
	}
	return get[rbacv1.ClusterRole](t, all, all[0].GetKind(), all[0].GetName()).Rules
}

func TestChartFilesAreGenerated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config := filepath.Join(harvester, "config", "loadbalancer")
	for _, file := range load(t, loadBalancer).Files {
		source := map[string]string{
			"files/crds": filepath.Join(config, "crd", "bases"), "files/rbac": filepath.Join(config, "rbac"),
		}[filepath.Dir(file.Name)]
		if source == "" {
			continue
		}
		made, err := os.ReadFile(filepath.Join(source, filepath.Base(file.Name)))
		if os.IsNotExist(err) {
			made, err = os.ReadFile(filepath.Join(root, "shared", "config", "rbac", filepath.Base(file.Name)))
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.TrimSpace(string(file.Data))).To(Equal(strings.TrimSpace(string(made))), "%s: run make generate", file.Name)
	}
}
