// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// placeholder matches an address that documentation leaves to the reader.
var placeholder = regexp.MustCompile(`\b(XX|YY|ZZ):(XX|YY|ZZ)\b`)

// invalidObject is an object that a webhook rejects: kind and version, the other content, the field, and words of the fix.
type invalidObject struct{ object, fields, field, fix string }

// broken returns invalid objects of every kind with webhooks, in every served version.
func broken() map[string][]invalidObject {
	return map[string][]invalidObject{
		"vsphere": {
			{"VSphereCluster v1beta2", "spec: {server: 'https://vc.example/ui'}", "spec.server", "such as vcenter.example.com"},
			{"VSphereCluster v1beta1", "spec: {server: vc.example, thumbprint: 'AA:BB'}", "spec.thumbprint", "openssl x509 -fingerprint shows it"},
			{"VSphereClusterIdentity v1beta2", "spec: {secretName: 'ns/secret'}", "spec.secretName", "must be the name of a Secret"},
			{"VSphereClusterIdentity v1beta1", "spec: {secretName: ''}", "spec.secretName", "must be the name of a Secret"},
			{"VSphereClusterTemplate v1beta2", "spec: {template: {spec: {clusterModules: [{moduleUUID: a}]}}}", "spec.template.spec.clusterModules", "remove it"},
			{"VSphereClusterTemplate v1beta1", "spec: {template: {spec: {server: 'vc/sdk'}}}", "spec.template.spec.server", "such as vcenter.example.com"},
			{"VSphereDeploymentZone v1beta2", "spec: {server: 'http://vc', failureDomain: a}", "spec.server", "such as vcenter.example.com"},
			{"VSphereDeploymentZone v1beta1", "spec: {server: 'http://vc', failureDomain: a}", "spec.server", "such as vcenter.example.com"},
			{"VSphereFailureDomain v1beta2", "spec: {region: {type: Datacenter}, zone: {type: HostGroup}, topology: {datacenter: d}}", "spec.topology.hosts", "must have the host group and its VM group"},
			{"VSphereFailureDomain v1beta1", "spec: {region: {type: ComputeCluster}, zone: {type: Datacenter}, topology: {datacenter: d, computeCluster: c}}", "spec.zone.type", "must not be larger than the region"},
			{"VSphereMachine v1beta2", "spec: {memoryMiB: 2049}", "spec.memoryMiB", "round it up"},
			{"VSphereMachine v1beta1", "spec: {pciDevices: [{deviceId: 1}]}", "spec.pciDevices[0]", "must have either deviceId and vendorId"},
			{"VSphereMachineTemplate v1beta2", "spec: {template: {spec: {network: {devices: [{ipAddrs: [10.0.0.9/24]}]}}}}", "spec.template.spec.network.devices[0].ipAddrs", "use DHCP"},
			{"VSphereMachineTemplate v1beta1", "spec: {template: {spec: {providerID: 'vsphere://1'}}}", "spec.template.spec.providerID", "remove it"},
			{"VSphereVM v1beta2", "spec: {network: {devices: [{dhcp4: true}]}}", "spec.network.devices[0].networkName", "must be set in the VSphereMachineTemplate"},
			{"VSphereVM v1beta1", "spec: {os: Windows}", "metadata.name", "must have at most 15 characters"},
		},
		"metal3": {
			{"Metal3Cluster v1beta2", "spec: {}", "spec.controlPlaneEndpoint.host", "must be the address of the API server"},
			{"Metal3Cluster v1beta1", "spec: {controlPlaneEndpoint: {host: a}, failureDomains: {rack 1: {controlPlane: true}}}", "spec.failureDomains[0].name", "rename the domain"},
			{"Metal3ClusterTemplate v1beta2", "spec: {template: {spec: {failureDomains: [{name: row/rack}]}}}", "spec.template.spec.failureDomains[0].name", "rename the domain"},
			{"Metal3ClusterTemplate v1beta1", "spec: {template: {spec: {failureDomains: {row/rack: {}}}}}", "spec.template.spec.failureDomains[0].name", "rename the domain"},
			{"Metal3Data v1beta2", "spec: {index: 1, template: {name: t}, claim: {name: c}}", "metadata.name", "the index: t-1"},
			{"Metal3Data v1beta1", "spec: {index: 1, template: {name: t}, claim: {name: c}}", "metadata.name", "the index: t-1"},
			{"Metal3DataClaim v1beta2", "spec: {}", "spec.template.name", "must name a Metal3DataTemplate"},
			{"Metal3DataClaim v1beta1", "spec: {template: {name: t, namespace: other}}", "spec.template.namespace", "create the other object there"},
			{"Metal3DataTemplate v1beta2", "spec: {metaData: {fromHostInterfaces: [{key: mac}]}}", "spec.metaData.fromHostInterfaces[0].interface", "unless fromBootMAC is set"},
			{"Metal3DataTemplate v1beta1", "spec: {networkData: {links: {bonds: [{id: b, bondMode: active-backup, parameters: {mode: x}}]}}}", "spec.networkData.links.bonds[0].parameters[0].name", "remove the parameter"},
			{"Metal3Machine v1beta2", "spec: {image: {url: node.qcow2, checksum: abc}}", "spec.image.url", "such as https://images.example.com/node.qcow2"},
			{"Metal3Machine v1beta1", "spec: {image: {url: 'http://a/b'}}", "spec.image.checksum", "only live ISOs and images in an OCI registry need none"},
			{"Metal3MachineTemplate v1beta2", "spec: {template: {spec: {image: {url: 'oci://a/b'}, hostSelector: {matchExpressions: [{key: a, operator: like}]}}}}", "spec.template.spec.hostSelector.matchExpressions[0].operator", "supported values"},
			{"Metal3MachineTemplate v1beta1", "spec: {template: {spec: {image: {url: 'oci://a/b'}, userData: {namespace: default}}}}", "spec.template.spec.userData.name", "or remove the reference"},
		},
		"harvester": {
			{"HarvesterCluster v1beta1", "spec: {identitySecret: {name: a, namespace: b}}", "spec.targetNamespace", "name the namespace on Harvester"},
			{"HarvesterCluster v1alpha1", "spec: {identitySecret: {name: a}, targetNamespace: w}", "spec.identitySecret.namespace", "name the namespace of the Secret"},
			{"HarvesterClusterTemplate v1beta1", "spec: {template: {spec: {loadBalancerConfig: {ipamType: dhcp, ipPoolRef: p}}}}", "spec.template.spec.loadBalancerConfig.ipPoolRef", "or set ipamType to pool"},
			{"HarvesterClusterTemplate v1alpha1", "spec: {template: {spec: {targetNamespace: a/b}}}", "spec.template.spec.targetNamespace", "must be a namespace name"},
			{"HarvesterMachine v1beta1", "spec: {cpu: 2, memory: 4GiB, volumes: [{volumeType: image, imageName: u}]}", "spec.memory", "for example 4Gi"},
			{"HarvesterMachine v1alpha1", "spec: {cpu: 2, memory: 4Gi}", "spec.volumes", "must have at least the volume"},
			{"HarvesterMachineTemplate v1beta1", "spec: {template: {spec: {networks: [a/b/c]}}}", "spec.template.spec.networks[0]", "must be namespace/name"},
			{"HarvesterMachineTemplate v1alpha1", "spec: {template: {spec: {volumes: [{volumeType: storageClass, volumeSize: 1Gi}]}}}", "spec.template.spec.volumes[0].storageClass", "name the storage class"},
		},
		"harvester-load-balancer": {
			{"IPPool v1beta1", "spec: {ranges: [{subnet: 10.0.0.0/24, rangeStart: 10.0.0.1, rangeEnd: 10.0.0.1}]}", "spec.ranges[0]", "other than the gateway"},
			{"LoadBalancer v1beta1", "spec: {listeners: [{port: 80, protocol: TCP, backendPort: 0}]}", "spec.listeners[0].backendPort", "must be between 1 and 65535"},
			{"LoadBalancer v1alpha1", "spec: {}", "spec.listeners", "with a port, its protocol"},
		},
	}
}

// of parses an object; its name is too long for a Windows computer.
func (w invalidObject) of(g *WithT, group string) unstructured.Unstructured {
	kind, version, _ := strings.Cut(w.object, " ")
	object := unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(w.fields))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(object.UnmarshalJSON(bytes.Replace(text, []byte("{"), []byte(`{"apiVersion": "`+group+"/"+version+`", "kind": "`+kind+`", `), 1))).To(Succeed())
	object.SetNamespace("default")
	object.SetName("name-of-some-length")
	return object
}

func TestWebhookErrorsAreReported(t *testing.T) {
	t.Parallel()
	for name, all := range broken() {
		for _, wrong := range all {
			t.Run(wrong.object, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				object := wrong.of(g, provider(t, name).Group)
				found := refusedOf(preflight.Examine(provider(t, name), of(object)))
				g.Expect(found).To(HaveLen(1), "%+v", found)
				g.Expect(found[0]).To(And(HaveField("Verdict", preflight.Check), HaveField("Kind", object.GetKind()), HaveField("Namespace", "default"),
					HaveField("Name", object.GetName()), HaveField("Field", wrong.field)))
				g.Expect(found[0].Message).To(And(ContainSubstring(wrong.fix), Or(
					ContainSubstring("; it keeps working, but it cannot be created again"), ContainSubstring("Machine can be created from it"))))
			})
		}
	}
}

func of(objects ...unstructured.Unstructured) preflight.Installation {
	in := preflight.Installation{Objects: map[string][]unstructured.Unstructured{}}
	for _, object := range objects {
		in.Objects[object.GetKind()] = append(in.Objects[object.GetKind()], object)
	}
	return in
}

func refusedOf(findings []preflight.Finding) []preflight.Finding {
	return slices.DeleteFunc(findings, func(f preflight.Finding) bool { return f.Rule != "Refused" })
}

// Every kind that a webhook validates on creation is covered, in every served version.
func TestEveryWebhookIsCovered(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"vsphere": "vsphere/config", "metal3": "metal3/config", "harvester": "harvester/config", "harvester-load-balancer": "harvester/config/loadbalancer",
	} {
		g, config := NewWithT(t), filepath.Join("..", "..", "..", "providers", folder)
		var want, got []string
		kinds := validated(g, filepath.Join(config, "webhook", "manifests.yaml"))
		definitions, err := filepath.Glob(filepath.Join(config, "crd", "bases", "*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range definitions {
			definition := read[apiextensionsv1.CustomResourceDefinition](g, file)
			for _, version := range definition.Spec.Versions {
				if version.Served && slices.Contains(kinds, definition.Spec.Names.Plural) {
					want = append(want, definition.Spec.Names.Kind+" "+version.Name)
				}
			}
		}
		for _, wrong := range broken()[name] {
			got = append(got, wrong.object)
		}
		g.Expect(got).To(ConsistOf(want), name)
	}
}

// validated returns the resources that a webhook validates on creation.
func validated(g *WithT, file string) []string {
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	resources := map[string]bool{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var configuration admissionregistrationv1.ValidatingWebhookConfiguration
		g.Expect(yaml.Unmarshal([]byte(document), &configuration)).To(Succeed())
		if configuration.Kind != "ValidatingWebhookConfiguration" {
			continue
		}
		for _, webhook := range configuration.Webhooks {
			for _, rule := range webhook.Rules {
				if slices.Contains(rule.Operations, admissionregistrationv1.Create) {
					resources[rule.Resources[0]] = true
				}
			}
		}
	}
	g.Expect(resources).NotTo(BeEmpty())
	return slices.Collect(maps.Keys(resources))
}

func read[T any](g *WithT, file string) T {
	var to T
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(text, &to)).To(Succeed())
	return to
}

func TestUnreadableObjects(t *testing.T) {
	t.Parallel()
	for object, why := range map[string]invalidObject{
		"a version that is not served": {"Metal3Machine v1alpha5", "spec: {}", "", "v1alpha5"},
		"a number where text belongs":  {"Metal3Machine v1beta2", "spec: {image: 7}", "", "cannot"},
	} {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(refusedOf(preflight.Examine(provider(t, "metal3"), of(why.of(g, preflight.Group))))).To(ConsistOf(And(
				HaveField("Field", ""), HaveField("Name", "name-of-some-length"), HaveField("Message", And(HavePrefix("it cannot be read: "), ContainSubstring(why.fix))))))
		})
	}
}

// A template from which machines are cloned is worse than an unused one, and than an existing object.
func TestInvalidTemplateInUseStops(t *testing.T) {
	t.Parallel()
	const text = `
objects:
- kind: Metal3Machine
  metadata: {name: m, namespace: default, annotations: {cluster.x-k8s.io/cloned-from-name: used}}
  spec: {image: {url: node.qcow2, checksum: abc}}
- kind: Metal3MachineTemplate
  metadata: {name: used, namespace: default}
  spec: {template: {spec: {image: {url: node.qcow2, checksum: abc}}}}
- kind: Metal3MachineTemplate
  metadata: {name: used, namespace: elsewhere}
  spec: {template: {spec: {image: {url: node.qcow2, checksum: abc}}}}
`
	g, of := NewWithT(t), map[string]preflight.Finding{}
	for _, f := range refusedOf(preflight.Examine(provider(t, "metal3"), installation(t, text))) {
		of[f.Kind+" "+f.Namespace] = f
	}
	g.Expect(of).To(HaveLen(3))
	g.Expect(of["Metal3MachineTemplate default"]).To(And(HaveField("Verdict", preflight.Stops), HaveField("Field", "spec.template.spec.image.url"),
		HaveField("Message", ContainSubstring("no more Metal3Machine can be created from it"))))
	g.Expect(of["Metal3MachineTemplate elsewhere"]).To(HaveField("Verdict", preflight.Check))
	g.Expect(of["Metal3Machine default"]).To(And(HaveField("Verdict", preflight.Check), HaveField("Message", ContainSubstring("cannot be created again"))))
}

// Upstream's shipped and documented manifests are accepted without findings, and what upstream's own load balancer rejects is
// reported.
func TestUpstreamManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..", "shared", "upstream")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/upstream is not next to the project")
	}
	for name, pattern := range map[string]string{"vsphere": "vsphere/v1beta*/*.yaml", "metal3": "metal3/v1beta*/*.yaml", "harvester": "harvester/manifests/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				var manifests []unstructured.Unstructured
				for _, manifest := range rulestest.Manifests(t, file) {
					manifests = append(manifests, *manifest)
				}
				for _, finding := range refusedOf(preflight.Examine(provider(t, name), of(manifests...))) {
					if strings.Contains(finding.Message, "must be the namespace of this object") || placeholder.MatchString(finding.Message) {
						continue // all of them are in one namespace here, and documentation leaves addresses to the reader
					}
					t.Errorf("%+v", finding)
				}
			})
		}
	}
}
