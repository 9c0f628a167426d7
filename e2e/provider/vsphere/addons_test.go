// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/shared/testenv"
)

const (
	csiNamespace = "vmware-system-csi"
	server       = "vcenter.example.com"
)

// addons holds the objects that the ClusterResourceSets of a cluster template install in its clusters, in the order in which Cluster API
// creates them.
type addons struct {
	flavor  string
	objects []*unstructured.Unstructured
}

// zoned reports whether the template describes zones.
func (a addons) zoned() bool { return strings.Contains(a.flavor, "zones") }

// servers returns the values of the template's variables for vCenters.
func (a addons) servers(first string) []string {
	if strings.Contains(a.flavor, "multi-vcenter") {
		return []string{first, "a-vsphere-server-2", "a-vsphere-server-3"}
	}
	return []string{first}
}

// allAddons renders every cluster template as clusterctl does, with values for variables without a default.
func allAddons(t *testing.T) []addons {
	t.Helper()
	return addonsWith(t, server)
}

// addonsWith is allAddons for a VSPHERE_SERVER.
func addonsWith(t *testing.T, server string) []addons {
	t.Helper()
	g := NewWithT(t)
	paths, err := filepath.Glob("../../../templates/vsphere/cluster-template*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(paths).NotTo(BeEmpty())
	var all []addons
	for _, path := range paths {
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		variables, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(content)
		g.Expect(err).NotTo(HaveOccurred())
		values := map[string]string{}
		for name, byDefault := range variables {
			if byDefault == nil {
				values[name] = "a-" + strings.ReplaceAll(strings.ToLower(name), "_", "-")
			}
		}
		values["VSPHERE_SERVER"], values["KUBERNETES_VERSION"] = server, "v1.36.3"
		rendered, err := managementcluster.Substitute(content, values)
		g.Expect(err).NotTo(HaveOccurred(), path)
		g.Expect(string(rendered)).NotTo(ContainSubstring("${"), path)
		objects, err := managementcluster.Decode(rendered)
		g.Expect(err).NotTo(HaveOccurred(), path)
		all = append(all, addons{flavor: filepath.Base(path), objects: installed(t, objects)})
	}
	return all
}

// installed returns the objects in the Secrets and ConfigMaps of ClusterResourceSets.
func installed(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	data := map[string]map[string]string{}
	for _, object := range objects {
		for _, field := range []string{"data", "stringData"} {
			if found, ok, _ := unstructured.NestedStringMap(object.Object, field); ok {
				data[object.GetKind()+"/"+object.GetName()] = found
			}
		}
	}
	var found []*unstructured.Unstructured
	for _, set := range objects {
		if set.GetKind() != "ClusterResourceSet" {
			continue
		}
		resources, _, err := unstructured.NestedSlice(set.Object, "spec", "resources")
		g.Expect(err).NotTo(HaveOccurred())
		for _, resource := range resources {
			ref := resource.(map[string]any)
			files := data[ref["kind"].(string)+"/"+ref["name"].(string)]
			g.Expect(files).NotTo(BeEmpty(), "%s of %s", ref, set.GetName())
			for _, file := range slices.Sorted(maps.Keys(files)) {
				more, err := managementcluster.Decode([]byte(files[file]))
				g.Expect(err).NotTo(HaveOccurred(), file)
				found = append(found, more...)
			}
		}
	}
	return found
}

// of returns the object of a kind and name as its type, which must have all of its fields.
func of[T any](t *testing.T, a addons, kind, name string) *T {
	t.Helper()
	into := new(T)
	for _, object := range a.objects {
		if object.GetKind() == kind && object.GetName() == name {
			content, err := yaml.Marshal(object.Object)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(yaml.UnmarshalStrict(content, into)).To(Succeed())
			return into
		}
	}
	t.Fatalf("%s installs no %s %s", a.flavor, kind, name)
	return nil
}

func TestTemplateAddonsHaveKnownFields(t *testing.T) {
	t.Parallel()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, a := range allAddons(t) {
		g := NewWithT(t)
		kinds := map[string]bool{}
		for _, object := range a.objects {
			content, err := yaml.Marshal(object.Object)
			g.Expect(err).NotTo(HaveOccurred())
			_, _, err = strict.Decode(content, nil, nil)
			g.Expect(err).NotTo(HaveOccurred(), "%s: %s %s", a.flavor, object.GetKind(), object.GetName())
			id := object.GetKind() + "/" + object.GetName()
			g.Expect(kinds).NotTo(HaveKey(id), a.flavor)
			kinds[id] = true
		}
		for _, id := range []string{
			"DaemonSet/vsphere-cloud-controller-manager", "Secret/vsphere-cloud-provider", "CSIDriver/csi.vsphere.vmware.com",
			"Deployment/vsphere-csi-controller", "DaemonSet/vsphere-csi-node", "Secret/vsphere-config-secret",
			"ConfigMap/internal-feature-states.csi.vsphere.vmware.com", "ClusterRole/vsphere-csi-controller", "ClusterRole/vsphere-csi-node",
		} {
			g.Expect(kinds).To(HaveKey(id), a.flavor)
		}
	}
}

// cloudConfig holds the fields of the cloud provider's configuration for connecting to a vCenter. The port defaults to 443.
type cloudConfig struct {
	VCenter map[string]struct {
		Server      string   `json:"server"`
		Port        uint     `json:"port"`
		Datacenters []string `json:"datacenters"`
	} `json:"vcenter"`
}

func TestAddonsSupportVCenterPort(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]struct {
		host string
		port uint
	}{
		"vcenter.example.com":      {"vcenter.example.com", 0},
		"vcenter.example.com:8443": {"vcenter.example.com", 8443},
		"10.0.0.5:36845":           {"10.0.0.5", 36845},
		"vcenter_1.example.com":    {"vcenter_1.example.com", 0},
	} {
		for _, a := range addonsWith(t, server) {
			g := NewWithT(t)
			credentials := of[corev1.Secret](t, a, "Secret", "vsphere-cloud-provider").StringData
			g.Expect(credentials).To(And(HaveLen(2*len(a.servers(server))), HaveKey(want.host+".username"), HaveKey(want.host+".password")), "%s: %s", a.flavor, server)
			for key := range credentials {
				g.Expect(validation.IsConfigMapKey(key)).To(BeEmpty(), key)
			}
			var config cloudConfig
			content := of[corev1.ConfigMap](t, a, "ConfigMap", "vsphere-cloud-provider").Data["vsphere.yaml"]
			g.Expect(yaml.Unmarshal([]byte(content), &config)).To(Succeed(), content)
			g.Expect(config.VCenter).To(HaveLen(len(a.servers(server))))
			for _, other := range a.servers(server)[1:] {
				g.Expect(config.VCenter).To(HaveKeyWithValue(other, And(HaveField("Server", other), HaveField("Port", uint(0)))), "%s: %s", a.flavor, content)
				g.Expect(credentials).To(And(HaveKey(other+".username"), HaveKey(other+".password")), a.flavor)
			}
			g.Expect(config.VCenter).To(HaveKeyWithValue(want.host, And(HaveField("Server", want.host), HaveField("Port", want.port), HaveField("Datacenters", HaveLen(1)))),
				"%s: %s", a.flavor, content)

			driver := of[corev1.Secret](t, a, "Secret", "vsphere-config-secret").StringData["csi-vsphere.conf"]
			g.Expect(driver).To(HavePrefix(`[VirtualCenter "` + want.host + "\"]\n"))
			port := MatchRegexp(`(?m)^port = `)
			if want.port == 0 {
				port = Not(port)
			} else {
				port = MatchRegexp(`(?m)^port = %d$`, want.port)
			}
			g.Expect(driver).To(port, "%s: %s", a.flavor, driver)
		}
	}
}

// Dry runs create nothing, so the namespace is created first, as in a cluster.
func TestAPIServerAcceptsTemplateAddons(t *testing.T) {
	t.Parallel()
	api, err := client.New(testenv.Start(t, testenv.Options{Scheme: scheme.Scheme}).Config, client.Options{Scheme: scheme.Scheme})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, a := range allAddons(t) {
		g := NewWithT(t)
		for _, object := range a.objects {
			options := []client.ApplyOption{client.FieldOwner("templates"), client.ForceOwnership}
			if object.GetKind() != "Namespace" {
				options = append(options, client.DryRunAll)
			}
			g.Expect(api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...)).To(Succeed(), "%s: %s %s", a.flavor, object.GetKind(), object.GetName())
			if object.GetKind() != "Namespace" {
				strict := object.DeepCopy()
				g.Expect(api.Create(t.Context(), strict, client.DryRunAll, client.FieldValidation("Strict"))).To(Succeed(), "%s: %s %s", a.flavor, object.GetKind(), object.GetName())
			}
		}
	}
}

// Objects that pods reference must be among the installed ones, because an API server does not check that.
func TestCSIDriverReferencesExist(t *testing.T) {
	t.Parallel()
	for _, a := range allAddons(t) {
		g := NewWithT(t)
		have := map[string]bool{}
		for _, object := range a.objects {
			have[object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()] = true
		}
		for _, spec := range []corev1.PodSpec{
			of[appsv1.Deployment](t, a, "Deployment", "vsphere-csi-controller").Spec.Template.Spec,
			of[appsv1.DaemonSet](t, a, "DaemonSet", "vsphere-csi-node").Spec.Template.Spec,
		} {
			g.Expect(have).To(HaveKey("ServiceAccount/" + csiNamespace + "/" + spec.ServiceAccountName))
			for i := range spec.Volumes {
				if secret := spec.Volumes[i].Secret; secret != nil {
					g.Expect(have).To(HaveKey("Secret/" + csiNamespace + "/" + secret.SecretName))
				}
			}
			sockets := map[string]string{}
			for i := range spec.Containers {
				container := &spec.Containers[i]
				g.Expect(container.Image).To(MatchRegexp(`^registry\.k8s\.io/[a-z/-]+:v\d+\.\d+\.\d+$`), "images are pinned")
				for _, arg := range container.Args {
					if name, ok := strings.CutPrefix(arg, "--fss-name="); ok {
						g.Expect(have).To(HaveKey("ConfigMap/" + csiNamespace + "/" + name))
					}
				}
				for _, mount := range container.VolumeMounts {
					if mount.MountPath == "/csi" {
						sockets[mount.Name] = container.Name
					}
				}
			}
			g.Expect(sockets).To(HaveLen(1), "the containers of a pod meet at one socket")
		}
	}
}

func TestVolumesUseZonesOfTemplate(t *testing.T) {
	t.Parallel()
	for _, a := range allAddons(t) {
		g := NewWithT(t)
		var lines []string
		for i, vcenter := range a.servers(server) {
			thumbprint := "a-vsphere-tls-thumbprint"
			if i > 0 {
				thumbprint = fmt.Sprintf("%s-%d", thumbprint, i+1)
			}
			lines = append(lines, `[VirtualCenter "`+vcenter+`"]`, `# `+vcenter, `user = "a-vsphere-username"`, `password = "a-vsphere-password"`,
				`datacenters = "a-vsphere-datacenter"`, `thumbprint = "`+thumbprint+`"`)
		}
		if a.zoned() {
			lines = append(lines, "[Labels]", `topology-categories = "k8s-region,k8s-zone"`)
		}
		config := of[corev1.Secret](t, a, "Secret", "vsphere-config-secret").StringData["csi-vsphere.conf"]
		g.Expect(regexp.MustCompile(`\n+`).Split(strings.TrimSpace(config), -1)).To(Equal(lines), a.flavor)

		controller := of[appsv1.Deployment](t, a, "Deployment", "vsphere-csi-controller")
		provisioner := slices.IndexFunc(controller.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "csi-provisioner" })
		args := controller.Spec.Template.Spec.Containers[provisioner].Args
		if a.zoned() {
			g.Expect(args).To(ContainElements("--feature-gates=Topology=true", "--strict-topology"), a.flavor)
			g.Expect(controller.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)), "the controller outlives a zone")
		} else {
			g.Expect(args).NotTo(ContainElement(ContainSubstring("opology")), a.flavor)
			g.Expect(controller.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		}
	}
}

// The CSI driver can be omitted with a selector, as documented in the README.
func TestCSIDriverCanBeDisabled(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../templates/vsphere/cluster-template*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		g := NewWithT(t)
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		var labelled int
		for object := range strings.SplitSeq(string(content), separator) {
			isCSI := strings.Contains(object, "\n  name: ${CLUSTER_NAME}-csi\n")
			g.Expect(strings.Contains(object, "\n  labels:\n    app.kubernetes.io/component: csi\n")).To(Equal(isCSI), path)
			if isCSI {
				labelled++
			}
		}
		g.Expect(labelled).To(Equal(3), "%s: ClusterResourceSet, Secret and ConfigMap", path)
	}
}
