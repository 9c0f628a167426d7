// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

// forEachProvider runs a test for the templates of each provider.
func forEachProvider(t *testing.T, test func(t *testing.T, provider string)) {
	t.Helper()
	for _, provider := range all.Names[provider.DemoProvider]() {
		t.Run(provider, func(t *testing.T) { test(t, provider) })
	}
}

func templateFolder(provider string) string { return filepath.Join("../../templates", provider) }

func templateFiles(t *testing.T, provider string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(templateFolder(provider), "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates of %s: %v", provider, err)
	}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// variables returns the variables of a template with their defaults, nil without one.
func variables(t *testing.T, content []byte) map[string]*string {
	t.Helper()
	found, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(content)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTemplatesAreExplained compares the variables of all templates and their defaults with the tables of the provider's
// README and of the README for all providers.
func TestTemplatesAreExplained(t *testing.T) { forEachProvider(t, testExplained) }

func testExplained(t *testing.T, provider string) {
	t.Helper()
	explained, required := map[string]string{}, map[string][]string{}
	for _, folder := range []string{templateFolder(provider), filepath.Dir(templateFolder(provider))} {
		readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\|(.*?)\\|(.*)").FindAllStringSubmatch(string(readme), -1) {
			explained[row[1]] = strings.Trim(row[2], "` |")
			_, flavors, _ := strings.Cut(row[3], "required with ")
			required[row[1]] = strings.FieldsFunc(flavors, func(r rune) bool { return strings.ContainsRune("`, |", r) })
		}
	}
	domain := regexp.MustCompile("^([A-Z0-9]+_[A-Z]+_)([BC])(|_.*)$")
	used := map[string]bool{}
	for file, content := range templateFiles(t, provider) {
		flavor := strings.TrimSuffix(strings.TrimPrefix(file, "cluster-template-"), ".yaml")
		for name, value := range variables(t, content) {
			row, want := name, ""
			if value != nil {
				want = *value
			}
			// The README explains the first domain for all three.
			if m := domain.FindStringSubmatch(name); m != nil {
				row = m[1] + "A" + m[3]
				want = strings.Replace(want, "-"+strings.ToLower(m[2]), "-a", 1)
			}
			used[row] = true
			got, ok := explained[row]
			if value == nil && slices.Contains(required[row], flavor) {
				got = ""
			}
			if !ok || got != want {
				t.Errorf("%s: %s has default %q, the READMEs have %q (explained: %v)", file, name, want, got, ok)
			}
		}
	}
	for name := range explained {
		if !used[name] {
			t.Errorf("the READMEs explain %s, which no template has", name)
		}
	}
}

// TestVariablesOfUpstreamsHarvesterTemplates verifies that each variable of a flavor of CAPHV (after v0.10.1) is one of our flavor of the same
// name, or that the README names it under "Variables of upstream" or as not needed.
func TestVariablesOfUpstreamsHarvesterTemplates(t *testing.T) {
	g := NewWithT(t)
	const (
		all = "CLUSTER_NAME NAMESPACE KUBERNETES_VERSION CONTROL_PLANE_MACHINE_COUNT WORKER_MACHINE_COUNT HARVESTER_ENDPOINT " +
			"HARVESTER_KUBECONFIG_B64 TARGET_HARVESTER_NAMESPACE SSH_KEYPAIR VM_IMAGE_NAME VM_NETWORK "
		rke2 = all + "RANCHER_TURTLES_LABEL VM_DISK_SIZE "
	)
	upstream := map[string]string{
		"rke2":      rke2 + "CLOUD_CONFIG_KUBECONFIG_B64 IP_POOL_NAME",
		"rke2-dhcp": rke2 + "CLOUD_CONFIG_KUBECONFIG_B64",
		"rke2-generateCPI": rke2 + "UPDATE_CLOUD_PROVIDER VM_USER CONTROL_PLANE_VM_CPU_COUNT CONTROL_PLANE_VM_MEMORY WORKER_VM_CPU_COUNT " +
			"WORKER_VM_MEMORY",
		"rke2-stig": rke2 + "IP_POOL_NAME SSH_USER",
		"talos": all + "CILIUM_VERSION CONTROL_PLANE_CPU CONTROL_PLANE_DISK_SIZE CONTROL_PLANE_MEMORY CSI_ATTACHER_VERSION " +
			"CSI_NODE_DRIVER_REGISTRAR_VERSION CSI_PROVISIONER_VERSION HARVESTER_CLOUD_PROVIDER_VERSION HARVESTER_CSI_DRIVER_VERSION IPAM_TYPE " +
			"POD_CIDR SERVICE_CIDR TALOS_VERSION UPDATE_CLOUD_PROVIDER VM_SSH_USER WORKER_CPU WORKER_DISK_SIZE WORKER_MEMORY",
	}
	readme, err := os.ReadFile(filepath.Join(templateFolder("harvester"), "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	about := regexp.MustCompile(`(?s)\*\*Variables of upstream:\*\*.*?\n\n`).FindAll(readme, -1)
	g.Expect(about).To(HaveLen(2), "of RKE2 and of Talos")
	unneeded := regexp.MustCompile("(?s)its `[A-Z_]+` is\\s+not needed").Find(readme)
	files := templateFiles(t, "harvester")
	for flavor, names := range upstream {
		explanation := string(unneeded) + string(about[0])
		if flavor == "talos" {
			explanation = string(unneeded) + string(about[1])
		}
		ours := variables(t, files["cluster-template-"+flavor+".yaml"])
		for _, name := range strings.Fields(names) {
			_, accepted := ours[name]
			g.Expect(accepted || slices.ContainsFunc(regexp.MustCompile("`[A-Z0-9_*]+`").FindAllString(explanation, -1), func(pattern string) bool {
				matched, err := filepath.Match(strings.Trim(pattern, "`"), name)
				return err == nil && matched
			})).To(BeTrue(), "%s of upstream's flavor %s", name, flavor)
		}
	}
}

// filled renders a template with values for all variables without a default.
func filled(t *testing.T, content []byte) []*unstructured.Unstructured {
	t.Helper()
	return filledWith(t, content, nil)
}

// filledWith is filled with values for other variables.
func filledWith(t *testing.T, content []byte, others map[string]string) []*unstructured.Unstructured {
	t.Helper()
	values := maps.Clone(others)
	if values == nil {
		values = map[string]string{}
	}
	for name, value := range variables(t, content) {
		if value == nil {
			values[name] = "example"
		}
	}
	maps.Copy(values, map[string]string{"KUBERNETES_VERSION": "v1.36.3", "CONTROL_PLANE_ENDPOINT_IP": "192.0.2.1"})
	objects, err := managementcluster.Fill(content, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestTemplatesAgree keeps the flavors from drifting apart: an object in two of them must be the same in both, except for the flavor's
// own differences.
func TestTemplatesAgree(t *testing.T) { forEachProvider(t, testAgree) }

func testAgree(t *testing.T, provider string) {
	t.Helper()
	g := NewWithT(t)
	// RKE2 has another control plane than the default template, to which the cluster and workers refer.
	ofRKE2 := []string{"Cluster", "MachineDeployment"}
	// The number of objects that a flavor shares with the default template, and its own kinds.
	type flavor struct {
		shared int
		own    []string
	}
	differ := map[string]map[string]flavor{
		"vsphere": {
			"cluster-template-external-loadbalancer.yaml":       {14, []string{"KubeadmControlPlane"}},
			"cluster-template-ignition.yaml":                    {13, []string{"KubeadmControlPlane", "KubeadmConfigTemplate"}},
			"cluster-template-node-ipam.yaml":                   {13, []string{"VSphereMachineTemplate"}},
			"cluster-template-topology.yaml":                    {7, []string{"Cluster"}},
			"cluster-template-zones.yaml":                       {6, []string{"VSphereCluster", "VSphereMachineTemplate", "ConfigMap", "Secret"}},
			"cluster-template-zones-external-loadbalancer.yaml": {5, []string{"KubeadmControlPlane", "VSphereCluster", "VSphereMachineTemplate", "ConfigMap", "Secret"}},
			"cluster-template-zones-multi-vcenter.yaml":         {6, []string{"VSphereCluster", "VSphereMachineTemplate", "ConfigMap", "Secret"}},
			"cluster-template-zones-topology.yaml":              {2, []string{"Cluster", "ConfigMap", "Secret"}},
			"cluster-template-zones-rke2.yaml":                  {3, append(ofRKE2, "VSphereCluster", "VSphereMachineTemplate", "ConfigMap", "Secret")},
		},
		"metal3": {
			"cluster-template-remediation.yaml": {9, []string{"MachineHealthCheck"}},
			"cluster-template-topology.yaml":    {0, []string{"Cluster"}},
			"cluster-template-rke2.yaml":        {5, ofRKE2},
		},
		"harvester": {
			"cluster-template-external-endpoint.yaml": {8, []string{"HarvesterCluster", "KubeadmControlPlane"}},
			"cluster-template-logical-domains.yaml":   {7, []string{"HarvesterCluster", "MachineDeployment"}},
			"cluster-template-topology.yaml":          {1, []string{"Cluster"}},
			"cluster-template-rke2.yaml":              {4, append(ofRKE2, "HarvesterCluster")},
			"cluster-template-rke2-dhcp.yaml":         {4, append(ofRKE2, "HarvesterCluster")},
			"cluster-template-rke2-cis.yaml":          {4, append(ofRKE2, "HarvesterCluster")},
			"cluster-template-rke2-generateCPI.yaml":  {4, append(ofRKE2, "HarvesterCluster")},
			"cluster-template-rke2-stig.yaml":         {2, append(ofRKE2, "HarvesterCluster", "HarvesterMachineTemplate")},
			"cluster-template-rke2-topology.yaml":     {1, []string{"Cluster"}},
			"cluster-template-talos.yaml":             {3, []string{"Cluster", "HarvesterCluster", "MachineDeployment"}},
		},
	}
	for file := range templateFiles(t, provider) {
		if file != "cluster-template.yaml" && strings.HasPrefix(file, "cluster-template-") {
			g.Expect(differ[provider]).To(HaveKey(file), "a flavor is compared with the default template")
		}
	}
	files := templateFiles(t, provider)
	plain := map[string]*unstructured.Unstructured{}
	for _, object := range filled(t, files["cluster-template.yaml"]) {
		plain[object.GetKind()+"/"+object.GetName()] = object
	}
	for file, flavor := range differ[provider] {
		shared := 0
		for _, object := range filled(t, files[file]) {
			id := object.GetKind() + "/" + object.GetName()
			if twin := plain[id]; twin != nil && !slices.Contains(flavor.own, object.GetKind()) {
				shared++
				g.Expect(object.Object).To(Equal(twin.Object), "%s: %s", file, id)
			}
		}
		g.Expect(shared).To(Equal(flavor.shared), file)
	}
}

// TestTemplatesReferToEachOther finds references to objects that are missing in a template.
func TestTemplatesReferToEachOther(t *testing.T) { forEachProvider(t, testReferences) }

func testReferences(t *testing.T, provider string) {
	t.Helper()
	files := templateFiles(t, provider)
	class := filled(t, files["clusterclass-faultline-"+provider+".yaml"])
	for file, content := range files {
		objects := filled(t, content)
		have := map[string]bool{}
		for _, object := range append(class, objects...) {
			have[object.GetKind()+"/"+object.GetName()] = true
		}
		for _, object := range objects {
			for _, reference := range references(object.Object) {
				if !have[reference] && !strings.HasPrefix(reference, "InClusterIPPool/") { // which does not belong to the cluster
					t.Errorf("%s: %s %s refers to %s, which is not there", file, object.GetKind(), object.GetName(), reference)
				}
			}
		}
	}
}

// references returns the kind/name of everything that looks like a reference.
func references(value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		kind, hasKind := value["kind"].(string)
		name, hasName := value["name"].(string)
		if hasKind && hasName {
			found = append(found, kind+"/"+name)
		}
		for _, inner := range value {
			found = append(found, references(inner)...)
		}
	case []any:
		for _, inner := range value {
			found = append(found, references(inner)...)
		}
	}
	return found
}

// TestTemplatesSetDistribution verifies that the variables of rebalancing and spreading have an effect in every template, and that their
// defaults are those of the API.
func TestTemplatesSetDistribution(t *testing.T) { forEachProvider(t, testDistribution) }

func testDistribution(t *testing.T, provider string) {
	t.Helper()
	files := templateFiles(t, provider)
	for file, content := range files {
		if strings.HasPrefix(file, "clusterclass-") {
			continue
		}
		g := NewWithT(t)
		g.Expect(distributionOf(t, files, content, nil)).To(Equal([]any{"Advise", strings.HasSuffix(file, "-logical-domains.yaml"), "Off"}), file)
		changed := map[string]string{
			"FAILURE_DOMAIN_REBALANCE": "SurgeOne", "FAILURE_DOMAIN_WORKERS": "true", "FAILURE_DOMAIN_WORKERS_REBALANCE": "DeleteOne",
		}
		g.Expect(distributionOf(t, files, content, changed)).To(Equal([]any{"SurgeOne", true, "DeleteOne"}), file)
	}
}

// distributionOf returns rebalance of the control plane, enabled of the workers and their rebalance, of the infrastructure cluster that a
// template creates, or that Cluster API creates from the ClusterClass.
func distributionOf(t *testing.T, files map[string][]byte, template []byte, with map[string]string) []any {
	t.Helper()
	g := NewWithT(t)
	var infrastructure map[string]any
	for _, object := range filledWith(t, template, with) {
		spec, _ := object.Object["spec"].(map[string]any)
		topology, _, err := unstructured.NestedString(spec, "topology", "classRef", "name")
		g.Expect(err).NotTo(HaveOccurred())
		switch {
		case topology != "":
			class := ofKind(t, filled(t, files["clusterclass-"+topology+".yaml"]), "ClusterClass")
			infrastructure = patched(t, class, "cluster", values(class, spec))
		case spec["distribution"] != nil:
			infrastructure = spec
		}
	}
	var all []any
	for _, path := range [][]string{{"controlPlane", "rebalance"}, {"workers", "enabled"}, {"workers", "rebalance"}} {
		value, _, err := unstructured.NestedFieldNoCopy(infrastructure, append([]string{"distribution"}, path...)...)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, value)
	}
	return all
}

func TestFillNamesTheMissingVariable(t *testing.T) {
	g := NewWithT(t)
	_, err := managementcluster.Fill(templateFiles(t, "vsphere")["cluster-template.yaml"], map[string]string{"CLUSTER_NAME": "demo"})
	g.Expect(err).To(MatchError(And(ContainSubstring("VSPHERE_SERVER"), Not(ContainSubstring("CLUSTER_NAME")))))
}
