// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// pools is a template with a pool in every possible field, without its kind.
const pools = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: pools, namespace: default}
spec:
  metaData:
    ipAddressesFromPool: [{key: a, name: pool}]
    prefixesFromPool: [{key: b, name: pool}]
    gatewaysFromPool: [{key: c, name: pool}]
    dnsServersFromPool: [{key: d, name: pool}]
  networkData:
    links:
      ethernets: [{id: lan, type: phy, macAddress: {fromHostInterface: eth0}}]
    networks:
      ipv4: [{id: a, link: lan, fromPoolRef: {name: pool}, routes: [{network: 10.0.0.0, gateway: {fromPoolRef: {name: pool}}}]}]
      ipv6: [{id: b, link: lan, fromPoolRef: {name: pool}, routes: [{network: "fd00::", gateway: {fromPoolRef: {name: pool}}}]}]
      ipv4DHCP: [{id: c, link: lan, routes: [{network: 10.0.0.0, gateway: {fromPoolRef: {name: pool}}}]}]
      ipv6DHCP: [{id: d, link: lan, routes: [{network: "fd00::", gateway: {fromPoolRef: {name: pool}}}]}]
      ipv6SLAAC: [{id: e, link: lan, routes: [{network: "fd00::", gateway: {fromPoolRef: {name: pool}}}]}]
`

// testReappliedAfterUpstream applies the manifest of an object to the object that upstream has stored: its CRD defaults every
// pool reference.
func testReappliedAfterUpstream(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g := NewWithT(t)
	stored := decode(g, strings.ReplaceAll(pools, "name: pool}", "name: pool, kind: IPPool, apiGroup: ipam.metal3.io}"))
	g.Expect(api.Create(t.Context(), stored.DeepCopy())).To(Succeed())
	manifest := decode(g, pools)
	reapply(t, api, manifest)
	got := read(t, api, manifest)
	g.Expect(got.Object["spec"]).To(Equal(read(t, api, stored).Object["spec"]))
	g.Expect(missing("spec", stored.Object["spec"], got.Object["spec"])).To(BeEmpty())
}

// testUpstreamManifests checks that every manifest of upstream's end-to-end tests, examples and documentation is accepted,
// preserved, and accepted again, in both versions.
func testUpstreamManifests(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "..", "shared", "upstream", "metal3", "v1beta*", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if len(files) == 0 {
		t.Run("skipped because ../shared/upstream does not exist", func(t *testing.T) { t.Skip() })
		return
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+" "+filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)); ; {
				manifest := &unstructured.Unstructured{}
				err := decoder.Decode(manifest)
				if errors.Is(err, io.EOF) {
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				manifest.SetNamespace(metav1.NamespaceDefault)
				testManifest(t, api, manifest)
			}
		})
	}
}

// expectedErrors lists the manifests that are rejected, and why. It contains only manifests that cannot work anywhere: in the
// documentation, addresses XX:XX:XX:XX:XX:XX, and an object in one namespace whose parts are in another.
var expectedErrors = map[string][]string{
	"nodepool-1": {
		"spec.networkData.links.bonds[0].macAddress.string: Invalid value", "spec.networkData.links.vlans[0].macAddress.string: Invalid value",
	},
	"test1-workers-template-0": {
		"spec.template.namespace: Invalid value", "spec.claim.namespace: Invalid value",
		"spec.metaData.namespace: Invalid value", "spec.networkData.namespace: Invalid value",
	},
}

func testManifest(t *testing.T, api *rulestest.APIServer, manifest *unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	what := manifest.GetKind() + " " + manifest.GetName()
	if causes := expectedErrors[manifest.GetName()]; causes != nil {
		rulestest.Rejected(g, api.Create(t.Context(), manifest.DeepCopy()), causes...)
		return
	}
	g.Expect(api.Create(t.Context(), manifest.DeepCopy())).To(Succeed(), what)
	g.Expect(missing("spec", manifest.Object["spec"], read(t, api, manifest).Object["spec"])).To(BeEmpty(), what)
	reapply(t, api, manifest)
	g.Expect(api.Delete(t.Context(), manifest.DeepCopy())).To(Succeed())
}

// reapply applies a manifest as kubectl does, which sends complete lists, and then by server-side apply; neither changes
// anything.
func reapply(t *testing.T, api *rulestest.APIServer, manifest *unstructured.Unstructured) {
	t.Helper()
	g, what := NewWithT(t), manifest.GetKind()+" "+manifest.GetName()
	before := read(t, api, manifest).GetGeneration()
	data, err := json.Marshal(manifest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Patch(t.Context(), manifest.DeepCopy(), client.RawPatch(types.MergePatchType, data))).To(Succeed(), what)
	for range 2 {
		err := api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), client.FieldOwner("gitops"), client.ForceOwnership)
		g.Expect(err).NotTo(HaveOccurred(), what)
	}
	g.Expect(read(t, api, manifest).GetGeneration()).To(Equal(before), what)
}

func decode(g Gomega, text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{}
	g.Expect(object.UnmarshalJSON(data)).To(Succeed())
	return object
}

func read(t *testing.T, api *rulestest.APIServer, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(manifest.GroupVersionKind())
	NewWithT(t).Expect(api.Get(t.Context(), client.ObjectKeyFromObject(manifest), got)).To(Succeed())
	return got
}

// missing returns the paths of wanted values that are missing or different. Additional values are ignored.
func missing(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		var paths []string
		for name := range want {
			paths = append(paths, missing(path+"."+name, want[name], fields[name])...)
		}
		return paths
	case []any:
		items, _ := got.([]any)
		if len(items) != len(want) {
			return []string{path}
		}
		var paths []string
		for i := range want {
			paths = append(paths, missing(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
		}
		return paths
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return []string{path}
		}
		return nil
	}
}
