// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// restricted is the label of a namespace that admits no pods with privileges on their node.
const restricted = "pod-security.kubernetes.io/enforce"

// components returns the objects of a kustomize folder in providers, as clusterctl installs them.
func components(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	content, err := managementcluster.Build(filepath.Join("../../providers", folder))
	g.Expect(err).NotTo(HaveOccurred())
	rendered, err := managementcluster.Fill(content, map[string]string{"VSPHERE_USERNAME": "user", "VSPHERE_PASSWORD": "secret", "VSPHERE_SERVER": "vcenter"})
	g.Expect(err).NotTo(HaveOccurred(), folder)
	return rendered
}

func TestVSphereCredentialsAreLimitedToServers(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../providers/vsphere/config/manager/credentials.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, tc := range map[string]struct {
		variables map[string]string
		want      string
	}{
		"no server":       {nil, "servers: []"},
		"VSPHERE_SERVER":  {map[string]string{"VSPHERE_SERVER": "vc:8443"}, "servers: [vc:8443]"},
		"VSPHERE_SERVERS": {map[string]string{"VSPHERE_SERVER": "vc", "VSPHERE_SERVERS": "10.0.0.1, vd"}, "servers: [10.0.0.1, vd]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			variables := map[string]string{"VSPHERE_USERNAME": "user", "VSPHERE_PASSWORD": "secret"}
			maps.Copy(variables, tc.variables)
			rendered, err := managementcluster.Fill(content, variables)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(the[corev1.Secret](g, name, rendered, "Secret").StringData["credentials.yaml"]).To(HaveSuffix(tc.want))
		})
	}
}

// installed returns the objects of all released installations with a manager.
//
// They are rendered once: callers must not change them.
func installed(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	renderedOnce.Lock()
	defer renderedOnce.Unlock()
	if renderedOnce.objects == nil {
		renderedOnce.objects = renderInstalled(t)
	}
	return renderedOnce.objects
}

var renderedOnce struct {
	sync.Mutex
	objects map[string][]*unstructured.Unstructured
}

func renderInstalled(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{
		"the load balancer's components":  components(t, "harvester/config/loadbalancer/default"),
		"the load balancer's chart":       mustRender(t, load(t, loadBalancer), ``),
		"the chart with cert-manager":     mustRender(t, load(t, loadBalancer), `certManager: {enabled: true}`),
		"the cloud provider's chart":      mustRender(t, load(t, cloudProvider), `{replicasCount: 2, cloudConfig: {secretName: harvester}}`),
		"the chart with a network policy": mustRender(t, load(t, loadBalancer), `networkPolicy: {enabled: true}`),
	}
	folders, err := filepath.Glob("../../providers/*/config/network-policy")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(folders).NotTo(BeEmpty())
	for _, folder := range folders {
		folder, _ = filepath.Rel("../../providers", folder)
		all[folder] = components(t, folder)
		all[filepath.Join(folder, "../default")] = components(t, filepath.Join(folder, "../default"))
	}
	return all
}

// the returns the only object of a kind.
func the[T any](g Gomega, what string, rendered []*unstructured.Unstructured, kind string) *T {
	var found []*T
	for _, object := range rendered {
		if object.GetKind() != kind {
			continue
		}
		typed := new(T)
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed)).To(Succeed())
		found = append(found, typed)
	}
	g.Expect(found).To(HaveLen(1), "%s: %s", what, kind)
	return found[0]
}

func TestManagersSurviveNodeDrain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for what, rendered := range installed(t) {
		deployment := the[appsv1.Deployment](g, what, rendered, "Deployment")
		budget := the[policyv1.PodDisruptionBudget](g, what, rendered, "PodDisruptionBudget")
		replicas := 2
		if strings.HasPrefix(what, "metal3/") {
			replicas = 1 // The provider's own test explains why.
		}
		g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(replicas)), what)
		g.Expect(budget.Namespace).To(Equal(deployment.Namespace), what)
		g.Expect(budget.Spec.MaxUnavailable).To(HaveValue(HaveField("IntVal", BeEquivalentTo(1))), what)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		g.Expect(err).NotTo(HaveOccurred())
		pod := deployment.Spec.Template
		g.Expect(selector.Matches(labels.Set(pod.Labels))).To(BeTrue(), what)
		g.Expect(pod.Spec.PriorityClassName).To(Equal("system-cluster-critical"), what)
		g.Expect(pod.Spec.Containers[0].Args).To(ContainElement(HavePrefix("--leader-elect")), "%s: one of two works", what)
	}
}

func TestWebhookCertificateRenewalKeepsCA(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for what, rendered := range installed(t) {
		issuers, authorities := map[string]map[string]any{}, map[string]map[string]any{}
		var serving map[string]any
		for _, object := range rendered {
			spec, _, err := unstructured.NestedMap(object.Object, "spec")
			g.Expect(err).NotTo(HaveOccurred())
			switch {
			case object.GetKind() == "Issuer":
				issuers[object.GetName()] = spec
			case object.GetKind() != "Certificate":
			case spec["isCA"] == true:
				authorities[spec["secretName"].(string)] = spec
			default:
				serving = spec
			}
		}
		if serving == nil {
			continue // It has no webhooks, or a certificate that Helm creates.
		}
		g.Expect(serving["issuerRef"]).To(HaveKeyWithValue("kind", "Issuer"), what)
		ca, isCA := issuers[serving["issuerRef"].(map[string]any)["name"].(string)]["ca"].(map[string]any)
		g.Expect(isCA).To(BeTrue(), "%s: its certificate is signed by itself, so that a new one is trusted only where it is known already", what)
		authority := authorities[ca["secretName"].(string)]
		g.Expect(authority["privateKey"]).To(HaveKeyWithValue("rotationPolicy", "Never"), what)
		g.Expect(issuers[authority["issuerRef"].(map[string]any)["name"].(string)]).To(HaveKey("selfSigned"), what)
		g.Expect(ca["secretName"]).NotTo(Or(Equal(serving["secretName"]), ContainSubstring("SERVICE_NAME")), what)
	}
}

func TestManagersHaveMemoryLimit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for what, rendered := range installed(t) {
		container := the[appsv1.Deployment](g, what, rendered, "Deployment").Spec.Template.Spec.Containers[0]
		limit := container.Resources.Limits.Memory()
		g.Expect(limit.Cmp(*container.Resources.Requests.Memory())).To(BeNumerically(">", 0), what)
		var known *corev1.EnvVar
		for _, env := range container.Env {
			if env.Name == "GOMEMLIMIT" {
				known = &env
			}
		}
		g.Expect(known).NotTo(BeNil(), what)
		if known.ValueFrom != nil {
			g.Expect(known.ValueFrom.ResourceFieldRef).To(HaveField("Resource", "limits.memory"), what)
			continue
		}
		soft, err := resource.ParseQuantity(strings.TrimSuffix(known.Value, "B"))
		g.Expect(err).NotTo(HaveOccurred(), what)
		g.Expect(float64(soft.Value())/float64(limit.Value())).To(BeNumerically("~", 0.9, 0.01), what)
	}
}

// managersRunInRestrictedNamespace creates the objects of each installation in a dry run, and a Pod of each manager in a restricted namespace.
func managersRunInRestrictedNamespace(t *testing.T, api *cluster) {
	t.Helper()
	g := NewWithT(t)
	strict := client.WithFieldValidation(client.NewDryRunClient(api.Client), metav1.FieldValidationStrict)
	protected := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{restricted: "restricted"}}}
	g.Expect(api.Create(t.Context(), protected)).To(Succeed())
	for what, rendered := range installed(t) {
		if what == "the cloud provider's chart" {
			continue // It uses the host network, because the pod network needs an initialized node.
		}
		deployment := the[appsv1.Deployment](g, what, rendered, "Deployment")
		own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deployment.Namespace}}
		for _, object := range rendered {
			if object.GetKind() == "Namespace" {
				g.Expect(object.GetLabels()).To(HaveKeyWithValue(restricted, "restricted"), what)
			}
		}
		g.Expect(client.IgnoreAlreadyExists(api.Create(t.Context(), own))).To(Succeed())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: protected.Name, Name: "manager"}, Spec: deployment.Spec.Template.Spec}
		g.Expect(strict.Create(t.Context(), pod)).To(Succeed(), what)
		for _, object := range rendered {
			if object.GetKind() != "Namespace" {
				g.Expect(client.IgnoreAlreadyExists(strict.Create(t.Context(), object.DeepCopy()))).To(Succeed(), "%s: %s %s", what, object.GetKind(), object.GetName())
			}
		}
	}
}
