// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/kubectl-fd/internal/command"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/testenv"
)

// golden returns the output of package render for the same clusters, which docs/kubectl-fd.md quotes.
func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestGetNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(ok(t, "get", "-n", fixtureNamespace)).To(Equal(golden(t, "get.txt")))
	g.Expect(ok(t, "get", "prod-1", "prod-2", "-n", fixtureNamespace)).To(Equal(golden(t, "get.txt")))
	g.Expect(ok(t, "get", "prod-1", "-n", fixtureNamespace, "-o", "svg")).To(Equal(golden(t, "get.svg")))
	g.Expect(ok(t, "get", "-n", fixtureNamespace, "-o", "svg")).To(Equal(golden(t, "get-several.svg")))
	g.Expect(ok(t, "get", "-n", fixtureNamespace, "-o", "wide")).To(ContainSubstring("│ └─prod-1-md-0-w1  Waiting"))
	g.Expect(ok(t, "get", "-n", fixtureNamespace, "-o", "name")).To(Equal("cluster.cluster.x-k8s.io/prod-1\ncluster.cluster.x-k8s.io/prod-2\n"))
}

func TestGetAllNamespaces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	out := ok(t, "get", "-A")
	g.Expect(out).To(ContainSubstring("prod/prod-1"))
	g.Expect(out).To(ContainSubstring(ns + "/prod-2"))
}

func TestGetJSONAndYAML(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(data []byte, to any) error { return yaml.Unmarshal(data, to) },
	} {
		var list struct {
			Kind  string
			Items []struct {
				Kind, Name     string
				FailureDomains []struct{ Name, State, Reason string }
			}
		}
		g.Expect(decode([]byte(ok(t, "get", "prod-1", "-n", fixtureNamespace, "-o", format)), &list)).To(Succeed())
		g.Expect(list.Kind).To(Equal("List"))
		g.Expect(list.Items).To(HaveLen(1))
		g.Expect(list.Items[0].Kind).To(Equal("ClusterFailureDomains"))
		g.Expect(list.Items[0].FailureDomains).To(HaveLen(3))
		g.Expect(list.Items[0].FailureDomains[1].Reason).To(Equal("FailureDomainHostsUnhealthy"))
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(ok(t, "plan", "prod-1", "-n", fixtureNamespace)).To(ContainSubstring("moving prod-1-k2v9x from rack-2 to rack-1: Drainable"))
	g.Expect(ok(t, "plan", "prod-2", "-n", fixtureNamespace)).To(Equal(golden(t, "plan-calculated.txt")))
	g.Expect(ok(t, "plan", "prod-2", "-n", fixtureNamespace, "-o", "json")).To(ContainSubstring(`"source": "calculated"`))
}

// machineDeployment returns a MachineDeployment of prod-2 whose template names a failure domain.
func machineDeployment(ns, name, domain string) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "prod-2"}}}
	md.Spec.ClusterName, md.Spec.Template.Spec.ClusterName = "prod-2", "prod-2"
	md.Spec.Selector.MatchLabels = map[string]string{"a": "b"}
	md.Spec.Template.Labels = map[string]string{"a": "b"}
	md.Spec.Template.Spec.FailureDomain = domain
	md.Spec.Template.Spec.Bootstrap.DataSecretName = &name
	md.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: clusterv1.GroupVersionInfrastructure.Group, Kind: "Metal3MachineTemplate", Name: name,
	}
	return md
}

func TestPlanExplainsUnplannedMachineDeployments(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	for name, domain := range map[string]string{"free": "", "named": "rack-1"} {
		g.Expect(shared.client.Create(t.Context(), machineDeployment(ns, name, domain))).To(Succeed())
	}
	out := ok(t, "plan", "prod-2", "-n", ns)
	g.Expect(out).To(ContainSubstring("MachineDeployment named: no plan\n  its template names failure domain rack-1, so all of its machines belong there"))
	g.Expect(out).To(ContainSubstring("MachineDeployment free: no plan\n  its template names no failure domain, and workers are not spread: set spec.distribution.workers.enabled"))
}

func TestSimulateExitCode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := shared.run(t, "simulate", "--lose", "rack-2", "-n", fixtureNamespace)
	g.Expect(got).To(Equal(result{golden(t, "simulate-rack-2.txt"), "", 2}))
	g.Expect(shared.run(t, "simulate", "--lose", "rack-3", "prod-2", "-n", fixtureNamespace).code).To(BeZero())
	g.Expect(shared.run(t, "simulate", "--lose", "rack-1,rack-3", "-n", fixtureNamespace).out).To(Equal(golden(t, "simulate-rack-1-and-3.txt")))
	got = shared.run(t, "simulate", "--lose", "rack-2", "-n", fixtureNamespace, "-o", "json")
	g.Expect(got.code).To(Equal(2))
	g.Expect(got.out).To(ContainSubstring(`"keepsQuorum": false`))
}

func TestHistory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(ok(t, "history", "prod-1", "-n", fixtureNamespace)).To(MatchRegexp(
		`(?s)MoveStarted +prod-1-x1x1x.*MoveCompleted +prod-1-x1x1x.*DomainCordoned.*MoveStarted +prod-1-k2v9x`))
	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	for name, of := range map[string]string{"ours": "prod-2", "theirs": "prod-3"} {
		g.Expect(shared.client.Create(t.Context(), &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, EventTime: metav1.NewMicroTime(fixtureNow().Add(-time.Minute)),
			Type: corev1.EventTypeWarning, Reason: "FailureDomainEvicting", Action: "Publish", Note: "an event of " + name,
			ReportingController: "test", ReportingInstance: "test",
			Regarding: corev1.ObjectReference{APIVersion: infra.GetAPIVersion(), Kind: infra.GetKind(), Namespace: ns, Name: of},
		})).To(Succeed())
	}
	out := ok(t, "history", "prod-2", "-n", ns)
	g.Expect(out).To(MatchRegexp(`2026-11-20T03:11:00Z +60s +FailureDomainEvicting +an event of ours\n$`))
	g.Expect(out).NotTo(ContainSubstring("theirs"))
}

func TestMissingPermissionsAreReportedTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	as := user(t, ns, may([]string{"get"}, "cluster.x-k8s.io", "clusters"))
	g.Expect(refused(t, "get", "prod-2", "-n", ns, as)).To(Equal("missing right: list machines.cluster.x-k8s.io in namespace " + ns +
		": ask for a role with it, or use another user with --context or --as"))
	g.Expect(refused(t, "get", "-n", ns, as)).To(Equal("missing rights: list clusters.cluster.x-k8s.io in namespace " + ns +
		"; list machines.cluster.x-k8s.io in namespace " + ns + ": ask for a role with them, or use another user with --context or --as"))
	g.Expect(refused(t, "get", "-A", as)).To(ContainSubstring("list clusters.cluster.x-k8s.io in all namespaces"))
	g.Expect(refused(t, "cordon", "prod-2", "rack-1", "-n", ns, as)).To(HavePrefix(
		"missing right: get metal3clusters.infrastructure.cluster.x-k8s.io in namespace " + ns))
}

func TestReadPermissionsSuffice(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	read := []string{"get", "list"}
	as := user(t, ns, may(read, "cluster.x-k8s.io", "clusters"), may(read, "cluster.x-k8s.io", "machines"),
		may(read, "cluster.x-k8s.io", "machinedeployments"), may(read, "infrastructure.cluster.x-k8s.io", "metal3clusters"),
		may(read, "events.k8s.io", "events"))
	ok(t, "get", "-n", ns, as)
	ok(t, "plan", "prod-2", "-n", ns, as)
	ok(t, "history", "prod-2", "-n", ns, as)
	g.Expect(refused(t, "cordon", "prod-2", "rack-1", "-n", ns, as)).To(HavePrefix(
		"missing right: patch metal3clusters.infrastructure.cluster.x-k8s.io in namespace " + ns))
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	ns := fixtureNamespace
	for want, args := range map[string][]string{
		"Cluster prod-9 not found in namespace prod: choose one of prod-1, prod-2, or another namespace with -n":         {"get", "prod-9", "-n", ns},
		"Cluster prod-1 not found in namespace empty: choose the namespace with -n, or see all with kubectl fd get -A":   {"get", "prod-1", "-n", "empty"},
		"no clusters found in namespace empty: choose another with -n, or all with -A":                                   {"get", "-n", "empty"},
		"a cluster name cannot be combined with --all-namespaces: choose its namespace with -n, or omit prod-1":          {"get", "prod-1", "-A"},
		"a namespace cannot be combined with --all-namespaces: omit -n prod or -A":                                       {"get", "-n", ns, "-A"},
		`invalid output format "xml": must be one of wide, json, yaml, name, svg, jsonpath, go-template, custom-columns`: {"get", "-o", "xml", "-n", ns},
		"a cluster must be named: kubectl fd plan CLUSTER":                                                               {"plan"},
		"--lose must name at least one failure domain":                                                                   {"simulate", "-n", ns},
		"none of the clusters has failure domain rack-9: choose one of rack-1, rack-2, rack-3":                           {"simulate", "--lose", "rack-9", "-n", ns},
		"a cluster and its failure domains must be named: kubectl fd cordon CLUSTER DOMAIN...":                           {"cordon", "prod-1"},
		"Metal3Cluster prod-1 has no failure domain rack-9: choose one of rack-1, rack-2, rack-3":                        {"cordon", "prod-1", "rack-9", "-n", ns},
		"--wait cannot be combined with --dry-run: omit one of them":                                                     {"cordon", "prod-1", "rack-1", "-n", ns, "--dry-run=server", "--wait"},
		"--timeout requires --wait: set --wait too":                                                                      {"evict", "prod-1", "rack-1", "-n", ns, "--timeout=1m"},
		"--timeout must be greater than 0":                                                                               {"evict", "prod-1", "rack-1", "-n", ns, "--wait", "--timeout=0s"},
		`invalid --dry-run value "maybe": must be one of none, client, server`:                                           {"evict", "prod-1", "rack-1", "-n", ns, "--dry-run=maybe"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(refused(t, args...)).To(Equal(want))
		})
	}
}

// There is capacity where a free host matches the hostSelector, counted as the provider does.
func TestSimulateHostSelector(t *testing.T) {
	t.Parallel()
	g, ns := NewWithT(t), own(t)
	create := func(version, kind, name string, labels, annotations map[string]string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion(version)
		o.SetKind(kind)
		o.SetNamespace(ns)
		o.SetName(name)
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
		g.Expect(shared.client.Create(t.Context(), o)).To(Succeed())
		return o
	}
	host := func(name, size string, annotations map[string]string, spec map[string]any) {
		o := create("metal3.io/v1alpha1", "BareMetalHost", name,
			map[string]string{"infrastructure.cluster.x-k8s.io/failure-domain": "rack-3", "size": size}, annotations, spec)
		o.Object["status"] = map[string]any{"operationalStatus": "OK", "provisioning": map[string]any{"state": "available"}}
		g.Expect(shared.client.Update(t.Context(), o)).To(Succeed())
	}
	placed := func() string { return ok(t, "simulate", "--lose", "rack-1", "-n", ns) }
	create(fixtureVersion, "Metal3Machine", "prod-2-aaaaa", map[string]string{clusterv1.ClusterNameLabel: "prod-2"}, nil, map[string]any{
		"image": map[string]any{"url": "http://images.example/node", "checksum": "http://images.example/node.sha256"}, "hostSelector": map[string]any{"matchLabels": map[string]any{"size": "large"}},
	})
	const none = "prod-2-aaaaa +control plane +test-[a-z0-9]+/prod-2 +rack-1 +waits: no capacity that suits size=large remains in the Active failure domains"
	host("small", "small", nil, map[string]any{"online": true})
	host("reserved", "large", nil, map[string]any{"online": true, "consumerRef": map[string]any{"name": "somebody"}})
	host("failed", "large", map[string]string{"capi.metal3.io/unhealthy": ""}, map[string]any{"online": true})
	g.Expect(placed()).To(MatchRegexp(none), "the only free host does not suit")
	host("large", "large", nil, map[string]any{"online": true})
	g.Expect(placed()).To(MatchRegexp("prod-2-aaaaa +control plane +test-[a-z0-9]+/prod-2 +rack-1 +rack-3"))

	as := user(t, ns, may([]string{"get", "list"}, "cluster.x-k8s.io", "*"), may([]string{"get", "list"}, "infrastructure.cluster.x-k8s.io", "*"))
	g.Expect(refused(t, "simulate", "--lose", "rack-1", "-n", ns, as)).To(HavePrefix("missing right: list baremetalhosts.metal3.io in namespace " + ns))
	g.Expect(shared.run(t, "simulate", "--lose", "rack-3", "-n", ns, as).code).To(BeZero(), "nothing is lost that selects hosts")
}

func TestIncompleteClusterShowsProblem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	cluster := func(name string, change func(*clusterv1.Cluster)) {
		object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		object.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: clusterv1.GroupVersionInfrastructure.Group, Kind: fixtureKind, Name: name,
		}
		change(object)
		g.Expect(shared.client.Create(t.Context(), object)).To(Succeed())
	}
	cluster("no-reference", func(c *clusterv1.Cluster) {
		c.Spec = clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}}
	})
	cluster("no-provider", func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = "OtherCluster" })
	cluster("no-infrastructure", func(*clusterv1.Cluster) {})
	cluster("no-domains", func(*clusterv1.Cluster) {})
	infra := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	infra.SetAPIVersion(fixtureVersion)
	infra.SetKind(fixtureKind)
	infra.SetNamespace(ns)
	infra.SetName("no-domains")
	g.Expect(shared.client.Create(t.Context(), infra)).To(Succeed())

	out := ok(t, "get", "-n", ns)
	for name, problem := range map[string]string{
		"no-reference":      "it has no infrastructure cluster: set spec.infrastructureRef of the Cluster",
		"no-provider":       "its infrastructure is OtherCluster.infrastructure.cluster.x-k8s.io no-provider, and no provider of that kind is installed: install it with clusterctl",
		"no-infrastructure": "its Metal3Cluster no-infrastructure does not exist: create it, or correct spec.infrastructureRef of the Cluster",
		"no-domains":        "Metal3Cluster no-domains has no failure domains: declare some as described in docs/failure-domains.md",
	} {
		g.Expect(out).To(ContainSubstring("└─* " + problem))
		g.Expect(refused(t, "plan", name, "-n", ns)).To(Equal("Cluster " + name + " cannot be planned: " + problem))
		if name != "no-domains" {
			g.Expect(refused(t, "cordon", name, "rack-1", "-n", ns)).To(Equal("Cluster " + name + " cannot be used: " + problem))
		}
	}
	g.Expect(refused(t, "cordon", "no-domains", "rack-1", "-n", ns)).To(HavePrefix("Metal3Cluster no-domains has no status.distribution.failureDomains"))
	g.Expect(out).To(ContainSubstring("rack-2"), "the other cluster is shown as before")
}

func TestNotAManagementCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	other, err := connect(testenv.Start(t, testenv.Options{Scheme: scheme()}), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	got := other.run(t, "get")
	g.Expect(got).To(Equal(result{"", "error: this is not a management cluster, because it does not serve Cluster of cluster.x-k8s.io/v1beta2: " +
		"choose another with --context or --kubeconfig\n", 1}))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(shared.run(t, "__complete", "-n", fixtureNamespace, "cordon", "").out).To(HavePrefix("prod-1\nprod-2\n:4"))
	g.Expect(shared.run(t, "__complete", "-n", fixtureNamespace, "cordon", "prod-1", "rack-1", "").out).To(HavePrefix("rack-2\nrack-3\n:4"))
	g.Expect(shared.run(t, "__complete", "-n", fixtureNamespace, "simulate", "--lose", "").out).To(HavePrefix("rack-1\nrack-2\nrack-3\n:4"))
	g.Expect(shared.run(t, "__complete", "get", "-o", "").out).To(ContainSubstring("svg"))
}

func TestHelp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, name := range []string{"get", "plan", "simulate", "cordon", "evict", "activate", "history", "version"} {
		out := ok(t, name, "--help")
		g.Expect(out).To(ContainSubstring("Examples:\n"), name)
		g.Expect(out).To(ContainSubstring("  kubectl fd "+name), name)
	}
	g.Expect(ok(t, "version", "--client")).To(Equal("Client Version: v0.0.0-test\n"))
}

func TestVersionShowsTheImagesOfProviders(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	for name, image := range map[string]string{"infrastructure-metal3": "registry:5000/team/capm3:v2.0.0", "cluster-api": "capi:v1.14.3"} {
		labels := map[string]any{clusterv1.ProviderNameLabel: name}
		g.Expect(shared.client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": ns, "labels": labels},
			"spec": map[string]any{
				"selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "manager", "image": image}}},
				},
			},
		}})).To(Succeed())
	}
	g.Expect(ok(t, "version")).To(MatchRegexp(
		`^Client Version: v0.0.0-test\nPROVIDER +NAMESPACE +IMAGE\n(?s:.*)cluster-api +` + ns + ` +capi:v1.14.3\n(?s:.*)infrastructure-metal3 +` + ns + ` +registry:5000/team/capm3:v2.0.0\n`))
	g.Expect(refused(t, "version", "--client=false", "more")).To(ContainSubstring("unknown command"))
}

func TestGetSelectsClustersByLabels(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	cluster := &clusterv1.Cluster{}
	g.Expect(shared.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "prod-2"}, cluster)).To(Succeed())
	cluster.Labels = map[string]string{"env": "prod"}
	g.Expect(shared.client.Update(t.Context(), cluster)).To(Succeed())
	g.Expect(ok(t, "get", "-n", ns, "-l", "env=prod", "-o", "name")).To(Equal("cluster.cluster.x-k8s.io/prod-2\n"))
	g.Expect(refused(t, "get", "-n", ns, "-l", "env=test")).To(HavePrefix("no clusters found with the labels env=test: "))
	g.Expect(refused(t, "get", "-n", ns, "-l", "env=prod", "prod-2")).To(Equal("a cluster name cannot be combined with --selector: omit prod-2 or -l"))
	g.Expect(refused(t, "get", "-n", ns, "-l", "=")).To(HavePrefix(`invalid --selector value "=": `))
}

func TestGetWithTemplatesAndWithoutHeaders(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(ok(t, "get", "-n", ns, "-o", "jsonpath={.items[*].name}")).To(Equal("prod-2"))
	g.Expect(ok(t, "get", "-n", ns, "-o", "go-template={{range .items}}{{.name}};{{end}}")).To(Equal("prod-2;"))
	g.Expect(refused(t, "get", "-n", ns, "-o", "jsonpath")).To(Equal("output format jsonpath must have a template: jsonpath=TEMPLATE"))
	g.Expect(refused(t, "get", "-n", ns, "-o", "json=x")).To(HavePrefix(`invalid output format "json=x": `))
	with := ok(t, "get", "-n", ns)
	g.Expect(with).To(HavePrefix("CLUSTER"))
	g.Expect(ok(t, "get", "-n", ns, "--no-headers")).To(HavePrefix(ns + "/prod-2"))
}

func TestAssignedWorkersAreShownInTheirDomain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	infra, err := infrastructure(t.Context(), ns)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unstructured.SetNestedField(infra.Object, true, "spec", "distribution", "workers", "enabled")).To(Succeed())
	g.Expect(shared.client.Update(t.Context(), infra)).To(Succeed())
	const name = "assigned"
	labels := map[string]string{clusterv1.ClusterNameLabel: "prod-2"}
	secret := name
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}}
	machine.Spec.ClusterName, machine.Spec.Bootstrap.DataSecretName = "prod-2", &secret
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: clusterv1.GroupVersionInfrastructure.Group, Kind: "Metal3Machine", Name: name,
	}
	g.Expect(shared.client.Create(t.Context(), machine)).To(Succeed())
	g.Expect(ok(t, "get", "prod-2", "-n", ns)).To(ContainSubstring("waiting assigned for a failure domain"))
	theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"image": map[string]any{"url": "http://image", "checksum": "http://sum"}}}}
	theirs.SetAPIVersion(fixtureVersion)
	theirs.SetKind("Metal3Machine")
	theirs.SetNamespace(ns)
	theirs.SetName(name)
	theirs.SetLabels(labels)
	theirs.SetAnnotations(map[string]string{faultlinev1.FormerName(faultlinev1.AssignedFailureDomainAnnotation): "rack-3"})
	g.Expect(shared.client.Create(t.Context(), theirs)).To(Succeed())
	g.Expect(ok(t, "get", "prod-2", "-n", ns)).To(ContainSubstring("waiting assigned for rack-3"))
}

func TestGetWithCustomColumns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	g.Expect(ok(t, "get", "-n", ns, "-o", "custom-columns=NAME:.name,STATES:{.failureDomains[*].state},NONE:.none")).To(MatchRegexp(
		`^NAME +STATES +NONE\nprod-2 +Active,Cordoned,Active +<none>\n$`))
	g.Expect(ok(t, "get", "-n", ns, "--no-headers", "-o", "custom-columns=NAME:name")).To(Equal("prod-2\n"))
	g.Expect(refused(t, "get", "-n", ns, "-o", "custom-columns")).To(Equal("output format custom-columns must have a template: custom-columns=TEMPLATE"))
	g.Expect(refused(t, "get", "-n", ns, "-o", "custom-columns=NAME")).To(Equal(`invalid column "NAME" of custom-columns: must be HEADER:PATH, such as NAME:.name`))
	g.Expect(refused(t, "get", "-n", ns, "-o", "custom-columns=NAME:.[")).To(HavePrefix("invalid path of column NAME: "))
}

func TestGetWatchShowsChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- command.Main(ctx, command.Options{
			IOStreams:   genericiooptions.IOStreams{In: strings.NewReader(""), Out: in, ErrOut: in},
			Environment: func(string) string { return "" }, Now: fixtureNow,
		}, []string{"--kubeconfig=" + shared.kubeconfig, "--cache-dir=" + t.TempDir(), "get", "-n", ns, "-w", "-o", "custom-columns=NAME:.name,STATES:.failureDomains[*].state"})
		_ = in.Close()
	}()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- strings.Join(strings.Fields(scanner.Text()), " ")
		}
	}()
	g.Eventually(lines, timeout).Should(Receive(Equal("NAME STATES")))
	g.Eventually(lines, timeout).Should(Receive(Equal("prod-2 Active,Cordoned,Active")))
	g.Expect(setState(t.Context(), ns, "rack-1", "Evicting", "EvictionRequested")).To(Succeed())
	g.Eventually(lines, timeout).Should(Receive(Equal("prod-2 Evicting,Cordoned,Active")), "without headers")
	g.Expect(shared.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "prod-2"}})).To(Succeed())
	g.Eventually(lines, timeout).Should(Receive(Equal("Cluster " + ns + "/prod-2 was deleted")))
	interrupt()
	g.Eventually(lines, timeout).Should(BeClosed())
	g.Expect(code).To(Receive(BeZero()), "an interrupt is not an error")
}

func TestGetWatchWithoutWatchPermission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ns := own(t)
	as := user(t, ns, may([]string{"list"}, "cluster.x-k8s.io", "clusters"), may([]string{"list", "watch"}, "cluster.x-k8s.io", "machines"))
	g.Expect(refused(t, "get", "-n", ns, "-w", as)).To(HavePrefix("missing right: watch clusters.cluster.x-k8s.io in namespace " + ns))
	g.Expect(refused(t, "get", "-n", ns, "-w", "-o", "svg")).To(Equal("--watch cannot be combined with -o svg: omit one of them"))
}
