// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	clusterctl "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestClusterctlTemplatesAreAccepted generates a cluster of each flavor with clusterctl, as a user does, and creates its objects in an API
// server with the CRDs of all their kinds. The providers' own tests verify that their webhooks accept the templates.
func TestClusterctlTemplatesAreAccepted(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // clusterctl contacts no management cluster
	g := NewWithT(t)
	folder := t.TempDir()
	_, err := release.Release{Release: docker.Release{Version: ourVersion}, Root: repository, Out: folder}.Write()
	g.Expect(err).NotTo(HaveOccurred())
	env := testenv.Start(t, testenv.Options{ClusterAPI: true, ControlPlane: true, CRDs: append(shippedCRDs(t), otherControlPlanes()...)})
	api, err := client.New(env.Config, client.Options{Scheme: scheme.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	for _, provider := range providers(t) {
		files, err := filepath.Glob(filepath.Join(folder, "infrastructure-"+provider, ourVersion, "cluster-template*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			t.Run(provider+"/"+name, func(t *testing.T) {
				testAccepted(t, api, generated(t, folder, provider, strings.TrimPrefix(strings.TrimPrefix(name, "cluster-template"), "-")))
			})
		}
	}
}

// generated returns the objects of a flavor from clusterctl.
func generated(t *testing.T, folder, provider, flavor string) []unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	command := printed{exports: map[string]string{
		"CONTROL_PLANE_ENDPOINT_IP": "192.0.2.1", "HARVESTER_KUBECONFIG_B64": "ZXhhbXBsZQ==", "TALOS_VERSION": "v1.12",
		"VM_NETWORK_CONFIG": "vmNetworkConfig: {ipPoolRef: pool, gateway: 10.17.0.1, subnetMask: 255.255.255.0}",
		"VSPHERE_FOLDER":    "vm", // without it, only the webhook that defaults zones omits an empty placementConstraint
	}}
	template, err := command.client(t, folder, provider).GetClusterTemplate(t.Context(), clusterctl.GetClusterTemplateOptions{
		ClusterName: "demo", TargetNamespace: "default", KubernetesVersion: "v1.36.3",
		ControlPlaneMachineCount: ptr.To[int64](3), WorkerMachineCount: ptr.To[int64](2),
		ProviderRepositorySource: &clusterctl.ProviderRepositorySourceOptions{InfrastructureProvider: provider + ":" + ourVersion, Flavor: flavor},
	})
	g.Expect(err).NotTo(HaveOccurred())
	controlPlane, workers := replicas(template.Objs())
	g.Expect(controlPlane).To(Equal(int64(3)))
	g.Expect(workers).To(Or(Equal(int64(2)), Equal(int64(4))), "one group or two")
	g.Expect(slices.ContainsFunc(template.Objs(), func(object unstructured.Unstructured) bool { return object.GetKind() == "ClusterClass" })).
		To(Equal(strings.HasSuffix(flavor, "topology")), "clusterctl adds the ClusterClass")
	return template.Objs()
}

func testAccepted(t *testing.T, api client.Client, objects []unstructured.Unstructured) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	for i := range objects {
		object := &objects[i]
		if object.GetKind() == "MachineDeployment" { // Cluster API's webhook adds its selector
			g.Expect(unstructured.SetNestedStringMap(object.Object, map[string]string{"a": "b"}, "spec", "selector", "matchLabels")).To(Succeed())
		}
		g.Expect(api.Create(ctx, object, client.FieldValidation("Strict"))).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
		defer func() { g.Expect(api.Delete(ctx, object)).To(Succeed()) }() // at the end: the next flavor has objects of the same names
	}
}

// shippedCRDs returns the CRDs of the providers, and of the kubeadm bootstrap provider, which testenv does not install.
func shippedCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	source, _ := clusterAPI(t)
	return append(crdsIn(t, filepath.Join(repository, "providers", "*", "config", "crd", "bases", "*.yaml")),
		crdsIn(t, filepath.Join(source, "bootstrap", "kubeadm", "config", "crd", "bases", "*.yaml"))...)
}

// crdsIn returns the CRDs in the files that match a pattern.
func crdsIn(t *testing.T, pattern string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(pattern)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty(), pattern)
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.Unmarshal(content, crd)).To(Succeed(), file)
		crds = append(crds, crd)
	}
	return crds
}

// otherControlPlanes returns CRDs with the fields that templates use of the control planes and bootstrap providers of RKE2 (v0.25.0) and
// Talos (v0.5.12 and v0.7.0-alpha.2), in the version that these store. Their modules are not dependencies.
func otherControlPlanes() []*apiextensionsv1.CustomResourceDefinition {
	const bootstrap, controlPlane = "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"
	template := func(spec jsonSchema) jsonSchema {
		return object(fields{"template": object(fields{"spec": spec}, "spec")}, "template")
	}
	config := object(fields{
		"files":           list(object(fields{"path": text(), "owner": text(), "permissions": text(), "content": text()}, "path")),
		"preRKE2Commands": list(text()),
		"agentConfig": object(fields{
			"cisProfile": oneOf("cis", "cis-1.23", "cis-1.5", "cis-1.6"), "podSecurityAdmissionConfigFile": text(),
			"kubelet": component(), "additionalUserData": object(fields{"config": text()}),
		}),
	})
	server := object(fields{
		"cni": oneOf("none", "calico", "canal", "cilium"), "auditPolicySecret": object(fields{"name": text(), "namespace": text()}), "kubeAPIServer": component(),
		"disableComponents": object(fields{"kubernetesComponents": list(oneOf("scheduler", "kubeProxy", "cloudController"))}),
	})
	strategy := object(fields{"type": oneOf("RollingUpdate"), "rollingUpdate": object(fields{"maxSurge": {XIntOrString: true}})})
	classed := with(config, fields{"serverConfig": server, "rolloutStrategy": strategy}, "rolloutStrategy")
	rke2 := with(classed, fields{
		"replicas": {Type: "integer"}, "version": {Type: "string", Pattern: `^v\d\.\d{2}\.\d+\+rke2r\d$`},
		"machineTemplate": object(fields{"spec": object(fields{
			"infrastructureRef": object(fields{"apiGroup": text(), "kind": text(), "name": text()}, "apiGroup", "kind", "name"),
		}, "infrastructureRef")}, "spec"),
	}, "version")
	machine := object(fields{"generateType": oneOf("controlplane", "worker"), "talosVersion": text(), "strategicPatches": list(text())}, "generateType")
	talos := object(fields{
		"replicas": {Type: "integer"}, "version": {Type: "string", Pattern: "^v"},
		"infrastructureTemplate": object(fields{"apiVersion": text(), "kind": text(), "name": text(), "namespace": text()}),
		"controlPlaneConfig":     object(fields{"controlplane": machine}, "controlplane"),
	}, "version", "infrastructureTemplate", "controlPlaneConfig")
	return []*apiextensionsv1.CustomResourceDefinition{
		crdOf(controlPlane, "v1beta2", "RKE2ControlPlane", rke2),
		crdOf(controlPlane, "v1beta2", "RKE2ControlPlaneTemplate", template(classed)),
		crdOf(bootstrap, "v1beta2", "RKE2ConfigTemplate", template(config)),
		crdOf(controlPlane, "v1alpha3", "TalosControlPlane", talos),
		crdOf(bootstrap, "v1alpha3", "TalosConfigTemplate", template(machine)),
	}
}

type (
	jsonSchema = apiextensionsv1.JSONSchemaProps
	fields     = map[string]jsonSchema
)

func text() jsonSchema { return jsonSchema{Type: "string"} }

func object(properties fields, required ...string) jsonSchema {
	return jsonSchema{Type: "object", Properties: properties, Required: required}
}

func list(of jsonSchema) jsonSchema {
	return jsonSchema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
}

func oneOf(values ...string) jsonSchema {
	of := text()
	for _, value := range values {
		of.Enum = append(of.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)})
	}
	return of
}

// component is the configuration of a program that RKE2 starts.
func component() jsonSchema { return object(fields{"extraArgs": list(text())}) }

// with returns an object with more fields.
func with(of jsonSchema, more fields, required ...string) jsonSchema {
	all := object(fields{}, slices.Concat(of.Required, required)...)
	for _, properties := range []fields{of.Properties, more} {
		for name, property := range properties {
			all.Properties[name] = property
		}
	}
	return all
}

func crdOf(group, version, kind string, spec jsonSchema) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = singular + "s." + group
	all := object(fields{"spec": spec}, "spec")
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &all},
		}},
	}
	return crd
}

// The cluster autoscaler adds the first machine of a MachineDeployment for a Pod with a zone only if an annotation lists the zone.
func TestWorkerGroupsOfAFailureDomainListItsZone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(repository, "templates", "*", "cluster-template*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	group := regexp.MustCompile(`(?m)^(?:kind: MachineDeployment$|      - class: )`)
	domain := regexp.MustCompile(`(?m)^ +failureDomain: "?(\$\{\w+:=[\w-]+\})`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, workers := range group.Split(string(text), -1)[1:] {
			if of := domain.FindStringSubmatch(workers); of != nil && !strings.HasSuffix(of[1], ":=null}") { // without a default, the user sets it
				g.Expect(workers).To(MatchRegexp(`capacity\.cluster-autoscaler\.kubernetes\.io/labels: ".*topology\.kubernetes\.io/zone=`+regexp.QuoteMeta(of[1])+`"`), file)
				found++
			}
		}
	}
	g.Expect(found).To(BeNumerically(">", 30))
}
