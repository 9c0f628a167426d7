// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeversion "k8s.io/apimachinery/pkg/version"
)

// version is a release; a series has patch 0.
type version struct{ major, minor, patch int }

// clusterAPI is the minimum release of Cluster API that the providers need.
var clusterAPI = version{1, 14, 2} //nolint:gochecknoglobals // Go has no constant structs.

func (v version) String() string { return fmt.Sprintf("v%d.%d.%d", v.major, v.minor, v.patch) }

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}

// series returns the version with patch 0.
func (v version) series() version { return version{v.major, v.minor, 0} }

// own reports whether it is a release of this project.
func (v version) own() bool { return v.major >= 2 }

// versionIn parses the version in a tag or an image; it returns false if none exists.
func versionIn(of string) (version, bool) {
	found := regexp.MustCompile(`v(\d+)\.(\d+)\.(\d+)(?:[-+@].*)?$`).FindStringSubmatch(of)
	if found == nil {
		return version{}, false
	}
	var v version
	for i, part := range []*int{&v.major, &v.minor, &v.patch} {
		*part, _ = strconv.Atoi(found[i+1])
	}
	return v, true
}

// installed returns the version of a component, by its label, and the object that states it: the entry in clusterctl's inventory,
// otherwise the Deployment with its image.
func (e *examination) installed(label string) (*unstructured.Unstructured, version, bool) {
	for i := range e.Providers {
		if e.Providers[i].GetLabels()[providerLabel] == label || e.Providers[i].GetName() == label {
			v, ok := versionIn(text(&e.Providers[i], "version"))
			return &e.Providers[i], v, ok
		}
	}
	for i := range e.Deployments {
		if e.Deployments[i].GetLabels()[providerLabel] != label {
			continue
		}
		v, ok := versionIn(text(container(&e.Deployments[i]), "image"))
		return &e.Deployments[i], v, ok
	}
	return nil, version{}, false
}

// providerLabel on the objects of a provider is its name for clusterctl.
const providerLabel = "cluster.x-k8s.io/provider"

// container returns the container named manager of a Deployment; an empty one if none exists.
func container(deployment *unstructured.Unstructured) *unstructured.Unstructured {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		if fields, ok := c.(map[string]any); ok && fields["name"] == "manager" {
			return &unstructured.Unstructured{Object: fields}
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// versions checks the releases of Cluster API and of the upstream provider.
func versions(e *examination) {
	const rule = "Versions"
	object, is, known := e.installed("cluster-api")
	switch {
	case object == nil:
		e.findings = append(e.findings, Finding{Verdict: Check, Provider: e.Name, Rule: rule, Kind: "Deployment",
			Message: fmt.Sprintf("no Cluster API was found by the label %s=cluster-api: it must be %s or later", providerLabel, clusterAPI)})
	case !known:
		e.about(object, Check, rule, fmt.Sprintf("the release of Cluster API cannot be determined: it must be %s or later", clusterAPI))
	case is.compare(clusterAPI) < 0:
		e.about(object, Stops, rule, fmt.Sprintf("Cluster API is %s: upgrade it to %s or later first, while upstream's provider is still installed", is, clusterAPI))
	}
	object, is, known = e.installed(e.label())
	switch {
	case object == nil:
		if e.count() > 0 {
			e.findings = append(e.findings, Finding{Verdict: Check, Provider: e.Name, Rule: rule, Kind: "Deployment", Message: fmt.Sprintf(
				"the provider has objects, but no manager was found by the label %s=%s: check that none runs elsewhere", providerLabel, e.label())})
		}
	case !known:
		e.about(object, Check, rule, fmt.Sprintf("its release cannot be determined: only releases from %s to %s can be taken over", e.first, e.last))
	case is.own():
		e.about(object, Changes, rule, fmt.Sprintf("%s is already this project's provider: no takeover is needed", is))
	case is.series().compare(e.first) < 0 || is.series().compare(e.last) > 0:
		e.about(object, Stops, rule, fmt.Sprintf("%s is not a release that can be taken over: change to one from %s to %s first", is, e.first, e.last))
	}
}

func (e *examination) count() int {
	n := 0
	for _, kind := range e.Kinds {
		n += len(e.Objects[kind])
	}
	return n
}

// storedVersions finds stored versions that block the new CRD: the API server rejects a CRD without a version in which objects
// may be stored.
func storedVersions(e *examination) {
	for i := range e.CRDs {
		crd := &e.CRDs[i]
		if !slices.Contains(e.Kinds, text(crd, "spec", "names", "kind")) || text(crd, "spec", "group") != e.Group {
			continue
		}
		stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		var unknown, older []string
		for _, v := range stored {
			switch {
			case !slices.Contains(e.served, v):
				unknown = append(unknown, v)
			case v != e.served[0]:
				older = append(older, v)
			}
		}
		if len(unknown) > 0 {
			e.about(crd, Stops, "StoredVersions", fmt.Sprintf(
				"status.storedVersions has %s, which this provider does not serve: rewrite all objects under upstream, and remove the version from status.storedVersions",
				strings.Join(unknown, ", ")))
		}
		if len(older) > 0 {
			e.about(crd, Changes, "StoredVersions", fmt.Sprintf("objects that are stored in %s are rewritten in %s when the manager starts",
				strings.Join(older, ", "), e.served[0]))
		}
	}
}

// contract checks whether Cluster API will read another version of a kind than before. Until it restarts, it watches the version
// that it used first.
func contract(e *examination) {
	if e.Standalone {
		return
	}
	for i := range e.CRDs {
		crd := &e.CRDs[i]
		if !slices.Contains(e.Kinds, text(crd, "spec", "names", "kind")) || text(crd, "spec", "group") != e.Group {
			continue
		}
		read := readVersion(crd.GetLabels())
		if read == "" || read == e.served[0] {
			continue
		}
		e.about(crd, Changes, "Contract", fmt.Sprintf("Cluster API reads it in %s and will read it in %s: restart its manager when the new components are "+
			"applied, because it continues to watch the former version: kubectl rollout restart deployment -n capi-system capi-controller-manager", read, e.served[0]))
		return // further ones add no information
	}
}

// readVersion returns the version of a kind that Cluster API reads, by the labels of the CRD: the latest one of the latest
// contract.
func readVersion(labels map[string]string) string {
	for _, contract := range []string{"v1beta2", "v1beta1"} {
		if versions := strings.Split(labels["cluster.x-k8s.io/"+contract], "_"); versions[0] != "" {
			return slices.MaxFunc(versions, kubeversion.CompareKubeAwareVersionStrings)
		}
	}
	return ""
}

// supervisor finds what upstream also serves and this provider does not.
func supervisor(e *examination) {
	for i := range e.CRDs {
		if group := text(&e.CRDs[i], "spec", "group"); e.Name == "vsphere" && group == "vmware."+Group {
			e.about(&e.CRDs[i], Stops, "Supervisor", "this provider does not support clusters on a Supervisor: keep upstream's provider for them")
		}
	}
}

// managers checks how the upstream manager is run: whether it uses the same lease as the new manager, and which arguments must be
// kept or removed.
func managers(e *examination) {
	found := 0
	e.eachManager(func(deployment *unstructured.Unstructured, args []string) {
		if found++; found > 1 {
			e.about(deployment, Stops, "Managers", "a second manager of the provider runs, and the new components replace only one: scale the others to 0 first, or they continue to run in parallel")
		}
		e.electionOf(deployment, args)
		e.argsOf(deployment, args)
	})
}

// eachManager calls look for the provider's own Deployments and their arguments.
func (e *examination) eachManager(look func(deployment *unstructured.Unstructured, args []string)) {
	for i := range e.Deployments {
		if deployment := &e.Deployments[i]; deployment.GetLabels()[providerLabel] == e.label() {
			args, _, _ := unstructured.NestedStringSlice(container(deployment).Object, "args")
			look(deployment, args)
		}
	}
}

func (e *examination) electionOf(deployment *unstructured.Unstructured, args []string) {
	const rule = "Lease"
	elects, given := flagOf(args, "leader-elect")
	if given && elects == "false" {
		e.about(deployment, Stops, rule, "--leader-elect=false: it would run in parallel with the new manager; scale it to 0 before the new one starts")
	}
	if replicas, set, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); e.unelected && !given && (!set || replicas > 0) {
		e.about(deployment, Check, rule, "it holds no lease, as it has no --leader-elect: clusterctl stops it before the new manager starts; if you apply the components another way, scale it to 0 first, or both run for a moment")
	}
	if id, given := flagOf(args, "leader-election-id"); given && id != e.Lease {
		e.about(deployment, Stops, rule, fmt.Sprintf("--leader-election-id=%s: the new manager uses %s and would run in parallel; give it the same argument, or scale this one to 0 first", id, e.Lease))
	}
}

// argsOf checks the arguments of upstream's manager. Providers without a list of flags accept all of upstream's.
func (e *examination) argsOf(deployment *unstructured.Unstructured, args []string) {
	if _, is, known := e.installed(e.label()); len(e.flags) == 0 || known && is.own() {
		return
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !slices.Contains(e.flags, name) {
			e.about(deployment, Check, "Flags", fmt.Sprintf("the flag --%s is unknown, and the new manager does not start with it: remove it from your patches", name))
		}
		if name != "feature-gates" {
			continue
		}
		for gate := range strings.SplitSeq(value, ",") {
			if gate, on, _ := strings.Cut(gate, "="); gate != "" && !slices.Contains(e.gates, gate) {
				verdict := Changes
				if on == "true" {
					verdict = Check
				}
				e.about(deployment, verdict, "Flags", fmt.Sprintf("feature gate %s=%s is unknown, and the new manager does not start with it: remove it from your patches", gate, on))
			}
		}
	}
}

// flagOf returns the value of a flag; the last one wins.
func flagOf(args []string, name string) (value string, given bool) {
	for _, arg := range args {
		flag, v, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if flag != name {
			continue
		}
		if value, given = v, true; !has {
			value = "true"
		}
	}
	return value, given
}

// leases reports which manager is the current leader.
func leases(e *examination) {
	for i := range e.Leases {
		if e.Leases[i].GetName() != e.Lease || e.LeaseNamespace != "" && e.Leases[i].GetNamespace() != e.LeaseNamespace {
			continue
		}
		if holder := text(&e.Leases[i], "spec", "holderIdentity"); holder != "" {
			e.about(&e.Leases[i], Changes, "Lease", fmt.Sprintf("%s holds it: the new manager starts to reconcile after that process has stopped", holder))
		}
	}
}

// managedFields finds managed fields with a version that will no longer be served.
func managedFields(e *examination) {
	for _, kind := range e.Kinds {
		older := map[string]int{}
		for i := range e.Objects[kind] {
			object := &e.Objects[kind][i]
			unknown := map[string]bool{}
			for _, entry := range object.GetManagedFields() {
				group, v, _ := strings.Cut(entry.APIVersion, "/")
				switch {
				case group != e.Group || v == e.served[0]:
				case slices.Contains(e.served, v):
					older[v]++
				case !unknown[v]:
					unknown[v] = true
					e.about(object, Stops, "ManagedFields", fmt.Sprintf(
						"%s last wrote it as %s, which this provider does not serve: server-side apply will fail; write the object once in a version that upstream serves", entry.Manager, v))
				}
			}
		}
		for v, n := range older {
			e.findings = append(e.findings, Finding{Verdict: Changes, Provider: e.Name, Rule: "ManagedFields", Kind: kind, Message: fmt.Sprintf(
				"%d appliers last wrote %s: they can continue, or switch to %s, and keep the fields they own", n, v, e.served[0])})
		}
	}
}

// deletions finds objects that are being deleted, whose deletion the new manager would complete.
func deletions(e *examination) {
	e.each(Check, "Deletion", func(object *unstructured.Unstructured) string {
		if object.GetDeletionTimestamp().IsZero() {
			return ""
		}
		return fmt.Sprintf("it is being deleted and has finalizers %s: wait until upstream has finished, or find out why it is blocked", strings.Join(object.GetFinalizers(), ", "))
	}, e.Kinds...)
}
