// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// ofUpstream returns the variables of upstream's getting-started guide and of its flavors, with similar values. clusterctl sets
// the variables of the cluster itself.
func ofUpstream() map[string]string {
	return map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": metav1.NamespaceDefault, "KUBERNETES_VERSION": "v1.36.3",
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
		"VSPHERE_USERNAME": "vi-admin@vsphere.local", "VSPHERE_PASSWORD": "admin!23", "VSPHERE_SERVER": "10.0.0.1",
		"VSPHERE_DATACENTER": "SDDC-Datacenter", "VSPHERE_DATASTORE": "DefaultDatastore", "VSPHERE_NETWORK": "VM Network",
		"VSPHERE_RESOURCE_POOL": "*/Resources", "VSPHERE_FOLDER": "vm", "VSPHERE_TEMPLATE": "ubuntu-2204-kube-v1.36.3",
		"CONTROL_PLANE_ENDPOINT_IP": "192.168.9.230", "VIP_NETWORK_INTERFACE": "ens192",
		"VSPHERE_TLS_THUMBPRINT":     strings.TrimSuffix(strings.Repeat("AB:", 20), ":"),
		"VSPHERE_SSH_AUTHORIZED_KEY": "ssh-rsa AAAAB3N", "VSPHERE_STORAGE_POLICY": "", "CPI_IMAGE_K8S_VERSION": "v1.36.0",
		"NODE_IPAM_POOL_API_GROUP": "ipam.cluster.x-k8s.io", "NODE_IPAM_POOL_KIND": "InClusterIPPool", "NODE_IPAM_POOL_NAME": "nodes",
		"NAMESERVER": "10.0.0.53", "CLUSTER_CLASS_NAME": "of-upstream",
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)(:=([^}]*))?\}`)

// rendered returns a template with these variables replaced, as by clusterctl.
func rendered(t *testing.T, flavor string, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "templates", "vsphere", flavor+".yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	content = variable.ReplaceAllFunc(content, func(use []byte) []byte {
		parts := variable.FindSubmatch(use)
		value, given := variables[string(parts[1])]
		switch hasDefault := len(parts[2]) > 0; {
		case value == "" && hasDefault:
			return parts[3]
		case !given:
			t.Errorf("%s needs %s, which upstream's variables do not have", flavor, parts[1])
		}
		return []byte(value)
	})
	file := filepath.Join(t.TempDir(), "rendered.yaml")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	return rulestest.Manifests(t, file)
}

// testTemplates creates the objects of each template with upstream's variables.
func testTemplates(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	for _, flavor := range []string{
		"cluster-template", "cluster-template-external-loadbalancer", "cluster-template-ignition", "cluster-template-node-ipam",
		"cluster-template-topology", "clusterclass-faultline-vsphere", "cluster-template-zones-rke2",
	} {
		t.Run(flavor, func(t *testing.T) {
			g := NewWithT(t)
			for _, object := range rendered(t, flavor, ofUpstream()) {
				switch object.GetKind() {
				case "KubeadmConfigTemplate", "RKE2ControlPlane", "RKE2ConfigTemplate":
					continue // the API server has no CRDs of them: e2e has a test with these
				case "MachineDeployment": // Cluster API's webhook adds its selector
					g.Expect(unstructured.SetNestedStringMap(object.Object, map[string]string{"a": "b"}, "spec", "selector", "matchLabels")).To(Succeed())
				}
				g.Expect(api.Create(t.Context(), object, client.FieldValidation("Strict"))).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
				defer func() { g.Expect(api.Delete(t.Context(), object)).To(Succeed()) }() // all at the end, as one may need another
			}
		})
	}
	t.Run("failure domains", func(t *testing.T) { testTemplateWithDomains(t, api) })
}

func testTemplateWithDomains(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g := NewWithT(t)
	made := func(variables map[string]string) *unstructured.Unstructured {
		for _, object := range rendered(t, "cluster-template", variables) {
			if object.GetKind() == "VSphereCluster" {
				g.Expect(api.Create(t.Context(), object, client.FieldValidation("Strict"))).To(Succeed())
				g.Expect(api.Delete(t.Context(), object.DeepCopy())).To(Succeed())
				return object
			}
		}
		return nil
	}
	variables := ofUpstream()
	_, selects, err := unstructured.NestedMap(made(variables).Object, "spec", "failureDomainSelector")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(selects).To(BeFalse(), "a cluster of upstream's variables has none")
	variables["VSPHERE_FAILURE_DOMAIN_SELECTOR"] = "{matchLabels: {topology.kubernetes.io/region: region-1}}"
	labels, _, err := unstructured.NestedStringMap(made(variables).Object, "spec", "failureDomainSelector", "matchLabels")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(labels).To(Equal(map[string]string{"topology.kubernetes.io/region": "region-1"}))
}
