// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline-io/faultline/e2e/charts"
)

const (
	loadBalancer = charts.LoadBalancer
	// service is the Service of the webhooks.
	service     = loadBalancer + "-webhook"
	certificate = service + "-cert"
	ipPools     = "ippools.loadbalancer.harvesterhci.io"
	balancers   = "loadbalancers.loadbalancer.harvesterhci.io"
)

// callers holds the objects through which the API server calls the webhooks.
type callers struct {
	validating *admissionv1.ValidatingWebhookConfiguration
	mutating   *admissionv1.MutatingWebhookConfiguration
	conversion *apiextensionsv1.CustomResourceDefinition
}

func callersOf(t *testing.T, all rendered) callers {
	t.Helper()
	return callers{
		validating: get[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", loadBalancer),
		mutating:   get[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration", loadBalancer),
		conversion: get[apiextensionsv1.CustomResourceDefinition](t, all, "CustomResourceDefinition", balancers),
	}
}

// bundles returns the CAs that each of them trusts.
func (c callers) bundles() [][]byte {
	all := [][]byte{c.conversion.Spec.Conversion.Webhook.ClientConfig.CABundle}
	for i := range c.validating.Webhooks {
		all = append(all, c.validating.Webhooks[i].ClientConfig.CABundle)
	}
	for i := range c.mutating.Webhooks {
		all = append(all, c.mutating.Webhooks[i].ClientConfig.CABundle)
	}
	return all
}

func TestWebhooksTrustChartCertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), ``)
	secret := get[corev1.Secret](t, all, "Secret", certificate)
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	shown, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown.NotAfter).To(BeTemporally("~", time.Now().AddDate(10, 0, 0), 10*24*time.Hour))
	bundles := callersOf(t, all).bundles()
	g.Expect(len(bundles)).To(BeNumerically(">", 2))
	for _, bundle := range bundles {
		authorities := x509.NewCertPool()
		g.Expect(authorities.AppendCertsFromPEM(bundle)).To(BeTrue())
		_, err = shown.Verify(x509.VerifyOptions{Roots: authorities, DNSName: service + "." + namespace + ".svc"})
		g.Expect(err).NotTo(HaveOccurred())
	}
	pod := deployment(t, all, loadBalancer).Spec.Template.Spec
	g.Expect(pod.Volumes[0].Secret.SecretName).To(Equal(certificate))
}

func TestWebhooksReferToService(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), `{nameOverride: lb, webhook: {httpsPort: 9443}}`)
	target := get[corev1.Service](t, all, "Service", "lb-webhook")
	manager := deployment(t, all, "lb")
	g.Expect(manager.Spec.Template.Labels).To(Equal(target.Spec.Selector))
	g.Expect(container(manager.Spec.Template.Spec).Args).To(ContainElement("--webhook-port=9443"))
	g.Expect(container(manager.Spec.Template.Spec).Ports[0].ContainerPort).To(Equal(int32(9443)))
	g.Expect(target.Spec.Ports[0].TargetPort.StrVal).To(Equal(container(manager.Spec.Template.Spec).Ports[0].Name))
	for _, webhook := range get[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration", "lb").Webhooks {
		g.Expect(webhook.ClientConfig.Service.Name).To(Equal("lb-webhook"))
		g.Expect(webhook.ClientConfig.Service.Namespace).To(Equal(namespace))
		g.Expect(*webhook.ClientConfig.Service.Path).To(HavePrefix("/validate-loadbalancer-harvesterhci-io-"))
	}
	conversion := get[apiextensionsv1.CustomResourceDefinition](t, all, "CustomResourceDefinition", balancers).Spec.Conversion
	g.Expect(conversion.Webhook.ClientConfig.Service.Name).To(Equal("lb-webhook"))
	g.Expect(*conversion.Webhook.ClientConfig.Service.Path).To(Equal("/convert"))
}

func TestCertManagerReplacesChartCertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), `certManager: {enabled: true}`)
	g.Expect(all.find("Secret", certificate)).To(BeNil())
	made := all.find("Certificate", certificate)
	g.Expect(made).NotTo(BeNil())
	g.Expect(made.Object["spec"]).To(And(HaveKeyWithValue("secretName", certificate),
		HaveKeyWithValue("issuerRef", map[string]any{"kind": "Issuer", "name": loadBalancer})))
	g.Expect(all.find("Issuer", loadBalancer)).NotTo(BeNil())
	callers := callersOf(t, all)
	for _, annotations := range []map[string]string{callers.validating.Annotations, callers.mutating.Annotations, callers.conversion.Annotations} {
		g.Expect(annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", namespace+"/"+certificate))
	}
	for _, bundle := range callers.bundles() {
		g.Expect(bundle).To(BeEmpty())
	}
}

func TestCustomIssuer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), `certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: ours}}`)
	g.Expect(all.find("Issuer", loadBalancer)).To(BeNil())
	g.Expect(all.find("Certificate", certificate).Object["spec"]).To(
		HaveKeyWithValue("issuerRef", map[string]any{"kind": "ClusterIssuer", "name": "ours"}))
}

func TestLoadBalancerChartSupportsHarvesterValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values string
		check  func(g Gomega, d *appsv1.Deployment)
	}{
		"replicas": {`replicaCount: 3`, func(g Gomega, d *appsv1.Deployment) { g.Expect(*d.Spec.Replicas).To(Equal(int32(3))) }},
		"an image of one's own": {`image: {repository: registry.local/faultline/harvester-load-balancer, tag: v1, pullPolicy: Always}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(container(d.Spec.Template.Spec).Image).To(Equal("registry.local/faultline/harvester-load-balancer:v1"))
			g.Expect(container(d.Spec.Template.Spec).ImagePullPolicy).To(Equal(corev1.PullAlways))
		}},
		"resources": {`resources: {limits: {memory: 1Gi}}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(container(d.Spec.Template.Spec).Resources.Limits).To(HaveKeyWithValue(corev1.ResourceMemory, resource.MustParse("1Gi")))
		}},
		"where it runs": {`{nodeSelector: {a: b}, tolerations: [{operator: Exists}], affinity: {nodeAffinity: {}}}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(d.Spec.Template.Spec.NodeSelector).To(Equal(map[string]string{"a": "b"}))
			g.Expect(d.Spec.Template.Spec.Tolerations).To(HaveLen(1))
			g.Expect(d.Spec.Template.Spec.Affinity.NodeAffinity).NotTo(BeNil())
		}},
		"a service account": {`serviceAccount: {create: false, name: other}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(d.Spec.Template.Spec.ServiceAccountName).To(Equal("other"))
		}},
		"the security context": {`securityContext: {runAsUser: 1000}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(*container(d.Spec.Template.Spec).SecurityContext.RunAsUser).To(Equal(int64(1000)))
			g.Expect(*container(d.Spec.Template.Spec).SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
		}},
		"what the webhook's own process had": {`webhook: {replicasCount: 2, image: {tag: v1}, resources: {limits: {cpu: 1}}, httpsPort: 8443}`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(container(d.Spec.Template.Spec).Args).To(ContainElement("--webhook-port=8443"))
		}},
		"more arguments": {`extraArgs: ["--loadbalancer-concurrency=20"]`, func(g Gomega, d *appsv1.Deployment) {
			g.Expect(container(d.Spec.Template.Spec).Args).To(ContainElement("--loadbalancer-concurrency=20"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.check(NewWithT(t), deployment(t, mustRender(t, load(t, loadBalancer), c.values), loadBalancer))
		})
	}
}

func TestReplicasSpreadOverZonesAndHosts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := mustRender(t, load(t, loadBalancer), ``)
	manager := deployment(t, all, loadBalancer)
	var keys []string
	for _, constraint := range manager.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, constraint.TopologyKey)
		g.Expect(constraint.LabelSelector.MatchLabels).To(Equal(manager.Spec.Selector.MatchLabels))
	}
	g.Expect(keys).To(Equal([]string{"topology.kubernetes.io/zone", "kubernetes.io/hostname"}))
	g.Expect(all.find("PodDisruptionBudget", loadBalancer)).NotTo(BeNil())
	g.Expect(mustRender(t, load(t, loadBalancer), `replicaCount: 1`).find("PodDisruptionBudget", loadBalancer)).To(BeNil())
}

func TestLoadBalancerChartNamesInvalidValue(t *testing.T) {
	t.Parallel()
	for values, message := range map[string]string{
		`replicaCount: "2"`:                                    "replicaCount",
		`replicasCount: 2`:                                     "replicasCount",
		`webhook: {httpsPort: 99999}`:                          "httpsPort",
		`webhook: {port: 8443}`:                                "port",
		`diagnostics: {port: 8443}`:                            "webhook.httpsPort and diagnostics.port must not be the same",
		`image: {repository: rancher/harvester-load-balancer}`: "image.repository must not be Harvester's own image",
		`certManager: {issuerRef: {kind: Issuer}}`:             "issuerRef",
		`selfSigned: {days: 0}`:                                "days",
		`crds: {keep: "yes"}`:                                  "keep",
		`podDisruptionBudget: {maxUnavailable: true}`:          "maxUnavailable",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			_, err := render(load(t, loadBalancer), values)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)))
		})
	}
}

func TestCRDsCanBeDisabled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(mustRender(t, load(t, loadBalancer), `crds: {enabled: false}`).find("CustomResourceDefinition", ipPools)).To(BeNil())
	kept := mustRender(t, load(t, loadBalancer), ``).find("CustomResourceDefinition", ipPools)
	g.Expect(kept.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
	gone := mustRender(t, load(t, loadBalancer), `crds: {keep: false}`).find("CustomResourceDefinition", ipPools)
	g.Expect(gone.GetAnnotations()).NotTo(HaveKey("helm.sh/resource-policy"))
}
