// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestAdmission verifies that the API server calls the webhooks for every kind. Other tests cover the rules.
func TestAdmission(t *testing.T) {
	api := startAPIServer(t)
	t.Run("HarvesterCluster", func(t *testing.T) { testClusterAdmission(t, api) })
	t.Run("an unspecified endpoint that is applied again takes none away", func(t *testing.T) { testUnspecifiedEndpoint(t, api) })
	t.Run("a failure domain in use stays what it is", func(t *testing.T) { testDomainInUse(t, api) })
	t.Run("HarvesterClusterTemplate", func(t *testing.T) { testClusterTemplateAdmission(t, api) })
	t.Run("HarvesterMachine", func(t *testing.T) { testMachineAdmission(t, api) })
	t.Run("HarvesterMachineTemplate", func(t *testing.T) { testMachineTemplateAdmission(t, api) })
	t.Run("a copy has no id of another", func(t *testing.T) { testCopies(t, api) })
	t.Run("every field", func(t *testing.T) { api.StoresAsWritten(t.Context(), t, wire, 4) })
	t.Run("upstream's manifests", func(t *testing.T) { testUpstreamManifests(t, api) })
	t.Run("our templates", func(t *testing.T) { testOurTemplates(t, api) })
	t.Run("a client of v1alpha1 loses nothing", func(t *testing.T) { testOlderClient(t, api) })
	t.Run("zero values", func(t *testing.T) {
		api.StayAsWritten(t, "testdata/zero-values", v1alpha1.GroupVersion, infrav1.GroupVersion)
	})
	t.Run("objects that are older than a rule", func(t *testing.T) { testOlderObjects(t, api) })
}

// wire is the folder of the objects with every field.
var wire = filepath.Join("..", "..", "api", "v1beta1", "testdata")

func startAPIServer(t *testing.T) *rulestest.APIServer {
	t.Helper()
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	// The test moves upstream's manifests into one namespace, but keeps the namespaces that they reference.
	options := owned.Consent{IdentityNamespaces: owned.Warn, CloudProviderConfigNamespaces: []string{"team-a"}}
	return rulestest.StartAPIServer(t, testenv.Options{
		Scheme: scheme, Config: filepath.Join("..", "..", "config"), Serve: Webhooks{Consent: options}.SetupWithManager, Conversion: true,
	})
}

// testCopies recreates objects with an id. clusterctl move and restoring a backup do so with the same name.
func testCopies(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	for name, tc := range map[string]struct {
		id   string
		made func(name string) client.Object
	}{
		"machine": {infrav1.MachineIDAnnotation, func(name string) client.Object {
			return &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named(name), Spec: validMachine()}
		}},
		"cluster": {infrav1.ClusterIDAnnotation, func(name string) client.Object {
			return &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named(name), Spec: validCluster()}
		}},
	} {
		with := func(name, id, of string) client.Object {
			o := tc.made(name)
			o.SetAnnotations(map[string]string{tc.id: id})
			if of != "" {
				o.SetAnnotations(map[string]string{tc.id: id, infrav1.IDOfAnnotation: infrav1.Owner(o.GetNamespace(), of)})
			}
			return o
		}
		refused := fmt.Sprintf("metadata.annotations[%s]: Forbidden", tc.id)
		rulestest.Rejected(g, api.Create(ctx, with(name+"-copy", "id-1", name+"-first")), refused)
		moved := with(name+"-first", "id-1", name+"-first")
		g.Expect(api.Create(ctx, moved)).To(Succeed(), "as clusterctl move makes it")
		rulestest.Rejected(g, api.Create(ctx, with(name+"-copy", "id-1", "")), refused)
		g.Expect(api.Create(ctx, with(name+"-older", "id-2", ""))).To(Succeed(), "as it is moved from an earlier release")
		g.Expect(api.Delete(ctx, moved)).To(Succeed())
	}
	template := &infrav1.HarvesterMachineTemplate{ObjectMeta: rulestest.Named("template-of-a-machine")}
	template.Spec.Template.Spec = validMachine()
	template.Spec.Template.Spec.ProviderID = ""
	template.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.MachineIDAnnotation: "id-1"}
	rulestest.Rejected(g, api.Create(ctx, template), "spec.template.metadata.annotations["+infrav1.MachineIDAnnotation+"]: Forbidden")
	classed := &infrav1.HarvesterClusterTemplate{ObjectMeta: rulestest.Named("template-of-a-cluster")}
	classed.Spec.Template.Spec = validCluster()
	classed.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.ClusterIDAnnotation: "id-1"}
	rulestest.Rejected(g, api.Create(ctx, classed), "spec.template.metadata.annotations["+infrav1.ClusterIDAnnotation+"]: Forbidden")
}

func testClusterAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("cluster"), Spec: validCluster()}
	for want, change := range map[string]func(*infrav1.HarvesterClusterSpec){
		"spec.loadBalancerConfig.ipPool.gateway: Invalid value": func(s *infrav1.HarvesterClusterSpec) { s.LoadBalancerConfig.IPPool.Gateway = "172.18.1.1" },
		"spec.loadBalancerConfig.ipamType: Unsupported value":   func(s *infrav1.HarvesterClusterSpec) { s.LoadBalancerConfig.IPAMType = "static" },
		"spec.identitySecret.name: Required value":              func(s *infrav1.HarvesterClusterSpec) { s.IdentitySecret.Name = "" },
		"spec.failureDomains[1]: Duplicate value": func(s *infrav1.HarvesterClusterSpec) {
			s.FailureDomains[1] = infrav1.HarvesterFailureDomain{Name: "zone-a", TopologyKey: "example.com/row"}
		},
	} {
		broken := cluster.DeepCopy()
		change(&broken.Spec)
		rulestest.Rejected(g, api.Create(ctx, broken), want)
	}
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	g.Expect(cluster.Spec.Distribution.GracePeriodSeconds).To(HaveValue(BeEquivalentTo(120)), "the CRD's default")
	cluster.Spec.ControlPlaneEndpoint.Host = "172.17.1.10"
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(6443), "the webhook's default")
	api.Warnings()
	cluster.Spec.Distribution.FailureDomains[0].Name = "zone-z"
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	g.Expect(api.Warnings()).To(ContainElement(HavePrefix("spec.distribution.failureDomains[0].name: ")))
	cluster.Spec.ControlPlaneEndpoint.Host, cluster.Spec.TargetNamespace = "172.17.1.11", "other"
	rulestest.Rejected(g, api.Update(ctx, cluster), "spec.controlPlaneEndpoint: Forbidden", "spec.targetNamespace: Forbidden")
}

// testUnspecifiedEndpoint repeatedly applies the topology controller's output for a template with an unspecified address.
func testUnspecifiedEndpoint(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&infrav1.HarvesterCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "HarvesterCluster"},
		ObjectMeta: rulestest.Named("topology"), Spec: validCluster(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	wanted := &unstructured.Unstructured{Object: content}
	g.Expect(unstructured.SetNestedMap(wanted.Object, map[string]any{"host": "0.0.0.0", "port": int64(6443)}, "spec", "controlPlaneEndpoint")).To(Succeed())
	apply := func() error {
		return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted.DeepCopy()), client.FieldOwner("topology"), client.ForceOwnership)
	}
	g.Expect(apply()).To(Succeed())
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("topology")}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.IsSet()).To(BeFalse())
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.17.1.10", Port: 6443}
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	generation := cluster.Generation
	for range 3 {
		g.Expect(apply()).To(Succeed())
	}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint).To(Equal(infrav1.APIEndpoint{Host: "172.17.1.10", Port: 6443}))
	g.Expect(cluster.Generation).To(Equal(generation))
}

// testDomainInUse removes failure domains that machines are in or request, and gives them other hosts. It does the same with a
// domain that only another cluster's machine names.
func testDomainInUse(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("in-use"), Spec: validCluster()}
	cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "in-use"}
	cluster.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{{Name: "zone-a"}, {Name: "zone-b"}, {Name: "zone-c"}}
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	elsewhere := machineIn(t, api, "in-use/elsewhere", "zone-a", "zone-b")
	other := machineIn(t, api, "other/other", "zone-c", "zone-c")

	cluster.Spec.FailureDomains = cluster.Spec.FailureDomains[:2]
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "the cluster has no machine in zone-c")
	changed := cluster.DeepCopy()
	changed.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{{Name: "zone-a", TopologyValue: "zone-d"}}
	err := api.Update(ctx, changed)
	rulestest.Rejected(g, err, "spec.failureDomains: Forbidden", "spec.failureDomains: Forbidden")
	g.Expect(err).To(MatchError(And(ContainSubstring("must not remove failure domain zone-a or change its hosts: HarvesterMachine elsewhere is in it"),
		ContainSubstring("must not remove failure domain zone-b"), ContainSubstring("Cordoned"))))
	cluster.Spec.FailureDomains[1].TopologyKey = "topology.kubernetes.io/zone"
	cluster.Spec.FailureDomains[1].Networks = []string{"default/vlan1"}
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "its hosts are the same")

	found := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("found"), Spec: validCluster()}
	found.Labels, found.Spec.FailureDomains = cluster.Labels, nil
	g.Expect(api.Create(ctx, found)).To(Succeed())
	found.Spec.FailureDomainTopologyKey = "example.com/rack"
	rulestest.Rejected(g, api.Update(ctx, found.DeepCopy()), "spec.failureDomainTopologyKey: Forbidden")

	testFoundDomainInUse(t, api, found)
	testListTakenAway(t, api, cluster)

	g.Expect(api.Delete(ctx, elsewhere)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
	found.Spec.FailureDomainTopologyKey = "example.com/rack"
	cluster.Spec.FailureDomains = nil
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "no machine is left")
	g.Expect(api.Update(ctx, found)).To(Succeed(), "no machine is left")
	g.Expect(api.Delete(ctx, other)).To(Succeed())
}

// machineIn creates CLUSTER/MACHINE, which requests one domain and is in another.
func machineIn(t *testing.T, api *rulestest.APIServer, of, requested, observed string) *infrav1.HarvesterMachine {
	t.Helper()
	g := NewWithT(t)
	cluster, name, _ := strings.Cut(of, "/")
	machine := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named(name), Spec: validMachine()}
	machine.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster}
	machine.Spec.FailureDomain = requested
	g.Expect(api.Create(t.Context(), machine)).To(Succeed())
	machine.Status.FailureDomain = observed
	g.Expect(api.Status().Update(t.Context(), machine)).To(Succeed())
	return machine
}

// testFoundDomainInUse lists failure domains for a cluster with discovered ones. Machines are in zone-a and zone-b, and one is restricted
// to a host.
func testFoundDomainInUse(t *testing.T, api *rulestest.APIServer, cluster *infrav1.HarvesterCluster) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	list := func(domains ...infrav1.HarvesterFailureDomain) error {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		cluster.Spec.FailureDomains = domains
		return api.Update(ctx, cluster, client.DryRunAll)
	}
	err := list(infrav1.HarvesterFailureDomain{Name: "zone-a"})
	rulestest.Rejected(g, err, "spec.failureDomains: Forbidden")
	g.Expect(err).To(MatchError(And(ContainSubstring("must not remove failure domain zone-b or change its hosts: HarvesterMachine elsewhere is in it"),
		ContainSubstring("topology.kubernetes.io/zone=zone-b"))))
	rulestest.Rejected(g, list(infrav1.HarvesterFailureDomain{Name: "zone-a", TopologyKey: "example.com/rack"}, infrav1.HarvesterFailureDomain{Name: "zone-b"}),
		"spec.failureDomains: Forbidden")
	g.Expect(list(infrav1.HarvesterFailureDomain{Name: "zone-b"}, infrav1.HarvesterFailureDomain{Name: "zone-a", TopologyKey: "topology.kubernetes.io/zone"})).
		To(Succeed(), "their hosts are the same")

	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	cluster.Status.FailureDomains = []clusterv1.FailureDomain{
		{Name: "zone-a", Attributes: map[string]string{infrav1.TopologyKeyAttribute: "kubernetes.io/hostname", infrav1.TopologyValueAttribute: "host-1"}},
	}
	g.Expect(api.Status().Update(ctx, cluster)).To(Succeed())
	rulestest.Rejected(g, list(infrav1.HarvesterFailureDomain{Name: "zone-a"}), "spec.failureDomains: Forbidden")
	g.Expect(list(infrav1.HarvesterFailureDomain{Name: "zone-a", TopologyKey: "kubernetes.io/hostname", TopologyValue: "host-1"})).
		To(Succeed(), "the domain was a host, and zone-b was not published")
}

// testListTakenAway removes a cluster's list of failure domains, which are discovered from then on.
func testListTakenAway(t *testing.T, api *rulestest.APIServer, cluster *infrav1.HarvesterCluster) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	other := cluster.DeepCopy()
	other.Spec.FailureDomains, other.Spec.FailureDomainTopologyKey = nil, "example.com/rack"
	rulestest.Rejected(g, api.Update(ctx, other), "spec.failureDomains: Forbidden", "spec.failureDomains: Forbidden")
	same := cluster.DeepCopy()
	same.Spec.FailureDomains = nil
	g.Expect(api.Update(ctx, same, client.DryRunAll)).To(Succeed(), "the labels of hosts define the same domains")
}

func testClusterTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	template := &infrav1.HarvesterClusterTemplate{ObjectMeta: rulestest.Named("template")}
	template.Spec.Template.Spec = validCluster()
	template.Spec.Template.Spec.TargetNamespace = "a.b"
	rulestest.Rejected(g, api.Create(ctx, template.DeepCopy()), "spec.template.spec.targetNamespace: Invalid value")
	template.Spec.Template.Spec.TargetNamespace = ""
	template.Spec.Template.Spec.IdentitySecret.Name = ""
	g.Expect(api.Create(ctx, template)).To(Succeed(), "the ClusterClass fills them in")
	template.Spec.Template.Spec.TargetNamespace = "workloads"
	g.Expect(api.Update(ctx, template)).To(Succeed(), "the topology controller passes it on")
	template.Spec.Template.Spec.LoadBalancerConfig.Listeners[0].Port = 0
	rulestest.Rejected(g, api.Update(ctx, template), "spec.template.spec.loadBalancerConfig.listeners[0].port: Invalid value")
}

func testMachineAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("machine"), Spec: validMachine()}
	machine.Spec.ProviderID = ""
	for want, change := range map[string]func(*infrav1.HarvesterMachineSpec){
		"spec.volumes: Required value":                    func(s *infrav1.HarvesterMachineSpec) { s.Volumes = nil },
		"spec.volumes[0].volumeType: Unsupported value":   func(s *infrav1.HarvesterMachineSpec) { s.Volumes[0].VolumeType = "disk" },
		"spec.cpu: Required value":                        func(s *infrav1.HarvesterMachineSpec) { s.CPU = 0 },
		"spec.firmware.secureBoot: Invalid value":         func(s *infrav1.HarvesterMachineSpec) { s.Firmware.EFI = false },
		"spec.networkConfig.dnsServers[0]: Invalid value": func(s *infrav1.HarvesterMachineSpec) { s.NetworkConfig.DNSServers[0] = "dns" },
	} {
		broken := machine.DeepCopy()
		change(&broken.Spec)
		if want == "spec.volumes[0].volumeType: Unsupported value" {
			g.Expect(rulestest.Causes(api.Create(ctx, broken))).To(ContainElement(want))
			continue
		}
		rulestest.Rejected(g, api.Create(ctx, broken), want)
	}
	g.Expect(api.Create(ctx, machine)).To(Succeed())
	machine.Spec.ProviderID = "harvester://7c9f0b7e"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller's")
	machine.Spec.Memory = "8Gi"
	rulestest.Rejected(g, api.Update(ctx, machine), "spec.memory: Forbidden")
}

func testMachineTemplateAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	type spec = infrav1.HarvesterMachineSpec
	rulestest.Rejected(g, api.Create(ctx, newTemplate(func(s *spec) { s.ProviderID = "harvester://a" })), "spec.template.spec.providerID: Forbidden")
	template := newTemplate(func(*spec) {})
	g.Expect(api.Create(ctx, template)).To(Succeed())
	template.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
	g.Expect(api.Update(ctx, template)).To(Succeed(), "labels of machines to come")
	template.Spec.Template.Spec.CPU = 8
	rulestest.Rejected(g, api.Update(ctx, template), "spec.template.spec.cpu: Forbidden")
}

// testOlderClient writes objects with an older API version: an existing one with fields that this version does not have, and a new one.
func testOlderClient(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("both"), Spec: validCluster()}
	g.Expect(api.Create(ctx, cluster)).To(Succeed())
	older := &v1alpha1.HarvesterCluster{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), older)).To(Succeed())
	g.Expect(api.Warnings()).To(ContainElement(ContainSubstring("v1alpha1 HarvesterCluster is deprecated")))
	older.Spec.Server = "https://10.20.0.6:6443"
	g.Expect(api.Update(ctx, older)).To(Succeed())
	want := cluster.Spec
	want.Server = "https://10.20.0.6:6443"
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec).To(Equal(want))
	g.Expect(cluster.Annotations).To(BeEmpty())
	older.Spec.TargetNamespace = "other"
	g.Expect(rulestest.Causes(api.Update(ctx, older))).To(ConsistOf("spec.targetNamespace: Forbidden"), "the rules are those of the hub")

	machine := &v1alpha1.HarvesterMachine{ObjectMeta: rulestest.Named("older-client"), Spec: v1alpha1.HarvesterMachineSpec(validMachine())}
	g.Expect(api.Create(ctx, machine)).To(Succeed())
	machine.Status.FailureReason = "CreateError"
	g.Expect(api.Status().Update(ctx, machine)).To(Succeed())
	hub := &infrav1.HarvesterMachine{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), hub)).To(Succeed())
	g.Expect(hub.Status.Deprecated.V1Alpha1.FailureReason).To(Equal("CreateError"))
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	g.Expect(machine.Status.FailureReason).To(Equal("CreateError"))
}

func testOlderObjects(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("older")}
	machine.Spec.CPU, machine.Spec.Memory = 2, "much"
	machine.Finalizers = []string{infrav1.MachineFinalizerLegacy}
	cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("older"), Spec: validCluster()}
	cluster.Spec.LoadBalancerConfig.IPAMType = infrav1.DHCP
	cluster.Finalizers = []string{infrav1.ClusterFinalizerLegacy}
	api.Without(t, func() {
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		g.Expect(api.Create(ctx, cluster)).To(Succeed())
	}, validated(t, api), defaulted(t, api))
	machine.Spec.ProviderID = "harvester://7c9f0b7e"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller can set what it has to")
	cluster.Spec.ControlPlaneEndpoint.Host = "172.17.1.10"
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "what is wrong already may stay")
	for _, object := range []client.Object{machine, cluster} {
		g.Expect(api.Delete(ctx, object)).To(Succeed())
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		object.SetFinalizers(nil)
		g.Expect(api.Update(ctx, object)).To(Succeed(), "the finalizer can be taken off")
	}
}

func validated(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		return api.Create(t.Context(), &infrav1.HarvesterMachine{ObjectMeta: rulestest.Named("probe"), Spec: infrav1.HarvesterMachineSpec{CPU: 1}}, client.DryRunAll) != nil
	}
}

func defaulted(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		cluster := &infrav1.HarvesterCluster{ObjectMeta: rulestest.Named("probe"), Spec: validCluster()}
		cluster.Spec.ControlPlaneEndpoint.Host = "172.17.1.10"
		return api.Create(t.Context(), cluster, client.DryRunAll) == nil && cluster.Spec.ControlPlaneEndpoint.Port != 0
	}
}
