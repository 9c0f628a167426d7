// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

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
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
)

// sound is an installation of the upstream provider without findings.
const sound = `
providers:
- {kind: Provider, metadata: {name: cluster-api, namespace: capi-system}, version: v1.14.2}
- {kind: Provider, metadata: {name: infrastructure-vsphere, namespace: capv-system, labels: {cluster.x-k8s.io/provider: infrastructure-vsphere}}, version: v1.16.1}
deployments:
- kind: Deployment
  metadata: {name: capv-controller-manager, namespace: capv-system, labels: {cluster.x-k8s.io/provider: infrastructure-vsphere}}
  spec: {template: {spec: {containers: [{name: manager, image: "registry/manager:v1.16.1", args: [--leader-elect, --v=4, "--feature-gates=MultiNetworks=false,PriorityQueue=true,NodeAntiAffinity=false"]}]}}}
crds:
- kind: CustomResourceDefinition
  metadata: {name: vsphereclusters.infrastructure.cluster.x-k8s.io, labels: {cluster.x-k8s.io/v1beta2: v1beta2}}
  spec: {group: infrastructure.cluster.x-k8s.io, names: {kind: VSphereCluster}}
  status: {storedVersions: [v1beta2]}
machines:
- kind: Machine
  metadata: {name: m, namespace: default}
  spec: {clusterName: c, failureDomain: zone, infrastructureRef: {kind: VSphereMachine}}
objects:
- kind: VSphereCluster
  metadata:
    name: c
    namespace: default
    ownerReferences: [{kind: Cluster, name: c}]
    managedFields: [{manager: kubectl, apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}]
  spec: {server: "https://vc.example/sdk", thumbprint: "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA", failureDomainSelector: {matchLabels: {of: c}}}
- kind: VSphereFailureDomain
  metadata: {name: domain, ownerReferences: [{kind: VSphereDeploymentZone, name: zone}]}
  spec: {region: {type: Datacenter}, zone: {type: ComputeCluster}, topology: {datacenter: dc, computeCluster: cc}}
- kind: VSphereDeploymentZone
  metadata: {name: zone, labels: {of: c}}
  spec: {server: vc.example, failureDomain: domain}
  status: {ready: true}
- kind: VSphereMachineTemplate
  metadata: {name: t, namespace: default}
  spec: {template: {spec: {memoryMiB: 4096}}}
- kind: VSphereMachine
  metadata: {name: m, namespace: default, ownerReferences: [{kind: Machine, name: m}]}
- kind: VSphereVM
  metadata: {name: m, namespace: default}
`

// listed is the format of an installation in a test.
type listed struct {
	Providers, Deployments, Leases, CRDs, Machines, Claims, Objects []map[string]any
}

// stored maps prefixes of kinds to the versions of objects that are written without one.
var stored = map[string]string{
	"VSphere": preflight.Group + "/v1beta2", "Metal3": preflight.Group + "/v1beta2", "Harvester": preflight.Group + "/v1beta1",
	"IPPool": preflight.LoadBalancerGroup + "/v1beta1", "LoadBalancer": preflight.LoadBalancerGroup + "/v1beta1",
}

func installation(t *testing.T, text string) preflight.Installation {
	t.Helper()
	var l listed
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(text), &l)).To(Succeed())
	objects := func(list []map[string]any) (out []unstructured.Unstructured) {
		for _, fields := range list {
			text, err := json.Marshal(fields)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			object := map[string]any{}
			NewWithT(t).Expect(json.Unmarshal(text, &object)).To(Succeed()) // numbers decoded as from an API server
			out = append(out, unstructured.Unstructured{Object: object})
		}
		return out
	}
	in := preflight.Installation{
		Providers: objects(l.Providers), Deployments: objects(l.Deployments), Leases: objects(l.Leases), CRDs: objects(l.CRDs),
		Machines: objects(l.Machines), Claims: objects(l.Claims), Objects: map[string][]unstructured.Unstructured{},
	}
	for _, object := range objects(l.Objects) {
		for prefix, version := range stored {
			if strings.HasPrefix(object.GetKind(), prefix) {
				object.SetAPIVersion(version)
			}
		}
		in.Objects[object.GetKind()] = append(in.Objects[object.GetKind()], object)
	}
	return in
}

func provider(t *testing.T, name string) preflight.Provider {
	t.Helper()
	found, err := preflight.Find([]string{name})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return found[0]
}

func TestValidInstallationHasNoFindings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := installation(t, sound)
	g.Expect(preflight.Examine(provider(t, "vsphere"), in)).To(BeEmpty())
	g.Expect(in.Has(provider(t, "vsphere"))).To(BeTrue())
	g.Expect(in.Has(provider(t, "metal3"))).To(BeFalse())
}

// change replaces a text in the sound installation by another.
type change struct{ this, that string }

func TestFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change
		verdict preflight.Verdict
		rule    string
		about   string // kind and name
		says    string
	}{
		"an older Cluster API":               {change{"v1.14.2", "v1.12.0"}, preflight.Stops, "Versions", "Provider cluster-api", "upgrade it to v1.14.2"},
		"a Cluster API without its label":    {change{"name: cluster-api,", "name: other,"}, preflight.Check, "Versions", "Deployment ", "no Cluster API was found"},
		"a release that is not known":        {change{"version: v1.16.1", "version: v1.18.0"}, preflight.Stops, "Versions", "Provider infrastructure-vsphere", "is not a release that can be taken over"},
		"our own":                            {change{"version: v1.16.1", "version: v2.0.0"}, preflight.Changes, "Versions", "Provider infrastructure-vsphere", "already"},
		"objects stored in v1beta1":          {change{"[v1beta2]", "[v1beta1, v1beta2]"}, preflight.Changes, "StoredVersions", "CustomResourceDefinition vsphereclusters.infrastructure.cluster.x-k8s.io", "rewritten in v1beta2"},
		"objects stored in v1alpha3":         {change{"[v1beta2]", "[v1alpha3, v1beta2]"}, preflight.Stops, "StoredVersions", "CustomResourceDefinition vsphereclusters.infrastructure.cluster.x-k8s.io", "v1alpha3, which this provider does not serve"},
		"a contract of before":               {change{"cluster.x-k8s.io/v1beta2: v1beta2", "cluster.x-k8s.io/v1beta1: v1alpha4_v1beta1"}, preflight.Changes, "Contract", "CustomResourceDefinition vsphereclusters.infrastructure.cluster.x-k8s.io", "reads it in v1beta1 and will read it in v1beta2: restart"},
		"a Supervisor":                       {change{"group: infra", "group: vmware.infra"}, preflight.Stops, "Supervisor", "CustomResourceDefinition vsphereclusters.infrastructure.cluster.x-k8s.io", "this provider does not support"},
		"no leader election":                 {change{"--leader-elect,", "--leader-elect=false,"}, preflight.Stops, "Lease", "Deployment capv-controller-manager", "in parallel with the new manager"},
		"a lease of another name":            {change{"--leader-elect,", "--leader-election-id=mine,"}, preflight.Stops, "Lease", "Deployment capv-controller-manager", "uses capv-controller-manager-runtime"},
		"a flag that is not known":           {change{"--v=4", "--frobnicate=1"}, preflight.Check, "Flags", "Deployment capv-controller-manager", "--frobnicate is unknown"},
		"a gate of a fork that is off":       {change{"PriorityQueue=true", "OfAFork=false"}, preflight.Changes, "Flags", "Deployment capv-controller-manager", "OfAFork=false"},
		"a gate of a fork that is on":        {change{"PriorityQueue=true", "OfAFork=true"}, preflight.Check, "Flags", "Deployment capv-controller-manager", "OfAFork=true"},
		"the gate of cluster modules":        {change{"NodeAntiAffinity=false", "NodeAntiAffinity=true"}, preflight.Check, "ClusterModules", "Deployment capv-controller-manager", "EXP_NODE_ANTI_AFFINITY=true"},
		"another manager holds the lease":    {change{"crds:", "leases: [{kind: Lease, metadata: {name: capv-controller-manager-runtime, namespace: capv-system}, spec: {holderIdentity: pod-1}}]\ncrds:"}, preflight.Changes, "Lease", "Lease capv-controller-manager-runtime", "pod-1 holds it"},
		"an applier of v1beta1":              {change{"apiVersion: infrastructure.cluster.x-k8s.io/v1beta2", "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1"}, preflight.Changes, "ManagedFields", "VSphereCluster ", "keep the fields they own"},
		"an applier of v1alpha4":             {change{"apiVersion: infrastructure.cluster.x-k8s.io/v1beta2", "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4"}, preflight.Stops, "ManagedFields", "VSphereCluster c", "kubectl last wrote it as v1alpha4"},
		"an object being deleted":            {change{"name: t,", "name: t, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a],"}, preflight.Check, "Deletion", "VSphereMachineTemplate t", "finalizers a"},
		"a certificate that is not trusted":  {change{`thumbprint: "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA"`, `thumbprint: ""`}, preflight.Check, "Thumbprint", "VSphereCluster c", "certificate of vc.example:"},
		"a template's old certificate":       {change{"memoryMiB: 4096", `thumbprint: "BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB"`}, preflight.Check, "Thumbprint", "VSphereMachineTemplate t", "differs from that of VSphereCluster c"},
		"cluster modules":                    {change{`failureDomainSelector:`, `clusterModules: [{}], failureDomainSelector:`}, preflight.Check, "ClusterModules", "VSphereCluster c", "1 cluster modules"},
		"a zone that is not ready":           {change{"{ready: true}", "{ready: false}"}, preflight.Check, "Zones", "VSphereDeploymentZone zone", "is not ready"},
		"a zone without its domain":          {change{"failureDomain: domain", "failureDomain: other"}, preflight.Stops, "Zones", "VSphereDeploymentZone zone", "VSphereFailureDomain other"},
		"a zone that no cluster selects":     {change{"matchLabels: {of: c}", "matchLabels: {of: d}"}, preflight.Check, "Zones", "VSphereDeploymentZone zone", "no VSphereCluster selects it"},
		"a host group for a region":          {change{"{type: Datacenter}", "{type: HostGroup}"}, preflight.Check, "Refused", "VSphereFailureDomain domain", "must be Datacenter or ComputeCluster"},
		"a domain without owners":            {change{"[{kind: VSphereDeploymentZone, name: zone}]", "[]"}, preflight.Changes, "FailureDomains", "VSphereFailureDomain domain", "deleted with the last of them"},
		"a machine in no zone that there is": {change{"failureDomain: zone", "failureDomain: gone"}, preflight.Check, "Machines", "Machine m", "gone is not a VSphereDeploymentZone"},
		"a machine on another vCenter":       {change{"server: vc.example,", "server: other.example,"}, preflight.Check, "Machines", "Machine m", "its replacement is created there when the zone is ready"},
		"a machine with little memory":       {change{"memoryMiB: 4096", "memoryMiB: 1024"}, preflight.Changes, "Memory", "VSphereMachineTemplate t", "get 2048"},
		"a snapshot":                         {change{"memoryMiB: 4096", "snapshot: base"}, preflight.Check, "Snapshot", "VSphereMachineTemplate t", "snapshot is base"},
		"a field that goes":                  {change{"memoryMiB: 4096", "network: {preferredAPIServerCidr: 10.0.0.0/8}"}, preflight.Changes, "Fields", "VSphereMachineTemplate t", "preferredAPIServerCidr is removed"},
		"a task that runs":                   {change{"- kind: VSphereVM\n", "- kind: VSphereVM\n  status: {taskRef: task-1}\n"}, preflight.Check, "Tasks", "VSphereVM m", "task-1"},
		"a claim":                            {change{"crds:", "claims: [{kind: IPAddressClaim, metadata: {name: m-0-0, namespace: default, finalizers: [vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection]}}]\ncrds:"}, preflight.Changes, "Claims", "IPAddressClaim m-0-0", "taken over"},
		"an owner of an old release":         {change{"[{kind: Machine, name: m}]", "[{kind: Machine, name: m}, {kind: VSphereCluster, name: c}]"}, preflight.Changes, "Owners", "VSphereMachine m", "VSphereCluster c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(strings.Count(sound, test.this)).To(BeNumerically(">", 0))
			findings := preflight.Examine(provider(t, "vsphere"), installation(t, strings.Replace(sound, test.this, test.that, 1)))
			var found []preflight.Finding
			for _, f := range findings {
				if f.Rule == test.rule && f.Verdict == test.verdict {
					found = append(found, f)
				}
			}
			g.Expect(found).To(HaveLen(1), "%+v", findings)
			g.Expect(found[0].Kind + " " + found[0].Name).To(Equal(test.about))
			g.Expect(found[0].Message).To(ContainSubstring(test.says))
			g.Expect(preflight.Blocked(findings)).To(Equal(slices.ContainsFunc(findings, func(f preflight.Finding) bool { return f.Verdict == preflight.Stops })))
		})
	}
}

func TestSecondManagerStops(t *testing.T) {
	t.Parallel()
	in := installation(t, sound)
	second := in.Deployments[0].DeepCopy()
	second.SetNamespace("other")
	in.Deployments = append(in.Deployments, *second)
	NewWithT(t).Expect(preflight.Examine(provider(t, "vsphere"), in)).To(ContainElement(And(
		HaveField("Verdict", preflight.Stops), HaveField("Rule", "Managers"), HaveField("Namespace", "other"))))
}

func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	_, err := preflight.Find([]string{"vmware"})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("choose one of vsphere, metal3, harvester, harvester-load-balancer")))
}

// The data about providers matches the providers' own files.
func TestProvidersMatchManifests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	for _, p := range preflight.Providers() {
		g, folder, crds := NewWithT(t), filepath.Join(root, "providers", p.Name), "config"
		program := filepath.Join(folder, "main.go")
		if p.Standalone {
			folder, crds = filepath.Join(root, "providers", "harvester"), filepath.Join("config", "loadbalancer")
			program = filepath.Join(folder, "cmd", "load-balancer", "main.go")
		}
		main, err := os.ReadFile(program)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(main)).To(ContainSubstring(`LeaderElectionID: "` + p.Lease + `"`))
		files, err := filepath.Glob(filepath.Join(folder, crds, "crd", "bases", p.Group+"_*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		kinds := map[string]bool{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			kinds[string(regexp.MustCompile(`(?m)^    kind: (\S+)$`).FindSubmatch(text)[1])] = true
		}
		delete(kinds, "IPPoolBlock") // upstream does not have it
		g.Expect(slices.Sorted(maps.Keys(kinds))).To(Equal(slices.Sorted(slices.Values(p.Kinds))))
	}
}

func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "migrate-from-upstream.md"))
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob("*.go")
	g.Expect(err).NotTo(HaveOccurred())
	said := regexp.MustCompile(`(?:Stops|Check|Changes|[vV]erdict), "(\w+)"|Rule: "(\w+)"|rule = "(\w+)"`)
	rules := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, found := range said.FindAllStringSubmatch(string(text), -1) {
			rules[found[1]+found[2]+found[3]] = true
		}
	}
	g.Expect(len(rules)).To(BeNumerically(">", 30))
	for rule := range rules {
		g.Expect(string(page)).To(ContainSubstring("`"+rule+"`"), "docs/migrate-from-upstream.md does not describe rule %s", rule)
	}
}

func TestControlPlaneOnAnotherVCenter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text := strings.Replace(sound, "metadata: {name: m, namespace: default}", "metadata: {name: m, namespace: default, labels: {cluster.x-k8s.io/control-plane: ''}}", 1)
	text = strings.Replace(text, "server: vc.example,", "server: other.example,", 1)
	said := func(text string) (said []string) {
		for _, finding := range preflight.Examine(provider(t, "vsphere"), installation(t, text)) {
			if finding.Rule == "Machines" {
				said = append(said, finding.Message)
			}
		}
		return said
	}
	g.Expect(said(text)).To(ConsistOf(ContainSubstring("its replacement would wait, because a control plane must be on the vCenter of its cluster")))
	added := strings.Replace(text, "failureDomainSelector:", `additionalServers: ["https://other.example/sdk"], failureDomainSelector:`, 1)
	g.Expect(said(added)).To(BeEmpty())
}
