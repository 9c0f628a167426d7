// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package charts_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// harvesters is a release with the relevant objects of Harvester's own load balancer chart: objects with its names and selectors, and the
// registrations that its webhook creates when it runs.
const harvesters = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: harvester-load-balancer, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.replicaCount }}
  selector:
    matchLabels: &labels {app.kubernetes.io/name: harvester-load-balancer, app.kubernetes.io/instance: {{ .Release.Name }}}
  template:
    metadata: {labels: *labels}
    spec:
      serviceAccountName: harvester-load-balancer
      containers:
      - {name: harvester-load-balancer, image: rancher/harvester-load-balancer:v1.9.0, command: [harvester-load-balancer]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: harvester-load-balancer-webhook, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.webhook.replicasCount }}
  selector:
    matchLabels: &webhook {app.kubernetes.io/name: harvester-load-balancer-webhook, app.kubernetes.io/instance: {{ .Release.Name }}}
  template:
    metadata: {labels: *webhook}
    spec:
      serviceAccountName: harvester-load-balancer-webhook
      containers:
      - {name: harvester-load-balancer-webhook, image: rancher/harvester-load-balancer-webhook:v1.9.0, command: [harvester-load-balancer-webhook]}
---
apiVersion: v1
kind: Service
metadata: {name: harvester-load-balancer-webhook, namespace: {{ .Release.Namespace }}}
spec:
  selector: {app.kubernetes.io/name: harvester-load-balancer-webhook, app.kubernetes.io/instance: {{ .Release.Name }}}
  ports: [{name: https, port: 443, targetPort: 8443}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: harvester-load-balancer, namespace: {{ .Release.Namespace }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: harvester-load-balancer}
rules: [{apiGroups: [""], resources: [services], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: harvester-load-balancer-webhook}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`

const theirValues = `{replicaCount: 1, resources: {limits: {memory: 128Mi}}, webhook: {replicasCount: 1, httpsPort: 8443, resources: {limits: {memory: 512Mi}}}}`

func TestPoolsSurviveUpgradeFromHarvesterChartAndUninstall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	api := newCluster(t)
	_, err := api.install(t, namespace, loadBalancer, made(t, loadBalancer, harvesters+definitions(t)), mustParse(t, theirValues))
	g.Expect(err).NotTo(HaveOccurred())
	pool := api.makePool(t)
	api.runTheirWebhook(t)

	// Upgrade to our chart.
	_, err = api.upgrade(t, namespace, loadBalancer, load(t, loadBalancer), mustParse(t, theirValues))
	g.Expect(err).NotTo(HaveOccurred())
	manager := &appsv1.Deployment{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: loadBalancer}, manager)).To(Succeed())
	g.Expect(manager.Spec.Template.Spec.Containers).To(HaveLen(1))
	g.Expect(container(manager.Spec.Template.Spec).Image).To(HavePrefix("docker.io/faultline/"))
	g.Expect(container(manager.Spec.Template.Spec).Command).To(BeEmpty())
	err = api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: service}, &appsv1.Deployment{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "their webhook is gone")
	target := &corev1.Service{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: service}, target)).To(Succeed())
	g.Expect(target.Spec.Selector).To(Equal(manager.Spec.Template.Labels))
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	first := api.admission(t)
	g.Expect(first.trusted).To(Equal(first.authority))
	api.expectTheirWebhookToBeGone(t)

	// An upgrade keeps the certificate.
	_, err = api.upgrade(t, namespace, loadBalancer, load(t, loadBalancer), mustParse(t, `replicaCount: 3`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.admission(t)).To(Equal(first))

	// Unless it is about to expire.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: certificate}}
	g.Expect(api.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"loadbalancer.harvesterhci.io/renewal":"2020-01-01"}}}`)))).To(Succeed())
	_, err = api.upgrade(t, namespace, loadBalancer, load(t, loadBalancer), nil)
	g.Expect(err).NotTo(HaveOccurred())
	renewed := api.admission(t)
	g.Expect(renewed.authority).NotTo(Equal(first.authority))
	g.Expect(renewed.trusted).To(Equal(renewed.authority+first.authority), "pods still show the old certificate")

	// Uninstalling the release keeps the pools, and a new release finds them.
	g.Expect(api.uninstall(t, namespace, loadBalancer)).To(Succeed())
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	err = api.Get(t.Context(), client.ObjectKey{Name: loadBalancer}, &admissionv1.ValidatingWebhookConfiguration{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the webhook is not called any more")
	_, err = api.install(t, namespace, loadBalancer, load(t, loadBalancer), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
}

// In a default Harvester, the load balancer is a mandatory part of Harvester's own release.
func TestPoolsSurviveTakeoverFromHarvester(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	api := newCluster(t)
	all := harvesters + definitions(t)
	_, err := api.install(t, namespace, "harvester", made(t, "harvester", all), mustParse(t, theirValues))
	g.Expect(err).NotTo(HaveOccurred())
	pool := api.makePool(t)
	api.runTheirWebhook(t)
	_, err = api.upgrade(t, namespace, "harvester", made(t, "harvester", all), mustParse(t, `{replicaCount: 0, webhook: {replicasCount: 0}}`))
	g.Expect(err).NotTo(HaveOccurred())

	install := action.NewInstall(api.helm(t, namespace))
	install.ReleaseName, install.Namespace, install.TakeOwnership = "faultline-load-balancer", namespace, true
	_, err = install.RunWithContext(t.Context(), load(t, loadBalancer), mustParse(t, `nameOverride: faultline-load-balancer`))
	g.Expect(err).NotTo(HaveOccurred())
	api.expectTheirWebhookToBeGone(t)
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	definition := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Name: balancers}, definition)).To(Succeed())
	g.Expect(definition.Spec.Conversion.Webhook.ClientConfig.Service.Name).To(Equal("faultline-load-balancer-webhook"))
	theirs := &appsv1.Deployment{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: loadBalancer}, theirs)).To(Succeed())
	g.Expect(*theirs.Spec.Replicas).To(BeZero())

	// Harvester is upgraded, and then the chart.
	_, err = api.upgrade(t, namespace, "harvester", made(t, "harvester", all), mustParse(t, `{replicaCount: 0, webhook: {replicasCount: 0}}`))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = api.upgrade(t, namespace, "faultline-load-balancer", load(t, loadBalancer), mustParse(t, `nameOverride: faultline-load-balancer`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
}

// runTheirWebhook creates the registrations that Harvester's own webhook creates when it runs.
func (c *cluster) runTheirWebhook(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	target := &admissionv1.ServiceReference{Namespace: namespace, Name: service, Path: ptr.To("/v1/webhook/validation")}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"loadbalancer.harvesterhci.io"}, APIVersions: []string{"v1beta1"}, Resources: []string{"ippools"}},
	}}
	g.Expect(c.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validator." + namespace + "." + service, Rules: rules, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{Service: target}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		}},
	})).To(Succeed())
	g.Expect(c.Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "mutator." + namespace + "." + service, Rules: rules, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{Service: target}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		}},
	})).To(Succeed())
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: balancers}}
	g.Expect(c.Patch(t.Context(), definition, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"conversion":{"strategy":"Webhook",
		"webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"`+namespace+`","name":"`+service+`","path":"/v1/webhook/conversion"}}}}}}`)))).To(Succeed())
}

func (c *cluster) expectTheirWebhookToBeGone(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for _, theirs := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}} {
		err := c.Get(t.Context(), client.ObjectKey{Name: service}, theirs)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T: pools would be refused", theirs)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: balancers}, definition)).To(Succeed())
	g.Expect(definition.Spec.Conversion.Webhook.ClientConfig.Service.Path).To(HaveValue(Equal("/convert")))
}

// admission holds the CA of the webhooks' certificate, and the CAs that the API server trusts.
type admission struct{ authority, trusted string }

func (c *cluster) admission(t *testing.T) admission {
	t.Helper()
	g := NewWithT(t)
	secret := &corev1.Secret{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: certificate}, secret)).To(Succeed())
	callers := callers{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}, &apiextensionsv1.CustomResourceDefinition{}}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: loadBalancer}, callers.validating)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: loadBalancer}, callers.mutating)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: balancers}, callers.conversion)).To(Succeed())
	bundles := callers.bundles()
	for _, bundle := range bundles {
		g.Expect(bundle).To(Equal(bundles[0]))
	}
	return admission{string(secret.Data["ca.crt"]), string(bundles[0])}
}

// harvestersCloudProvider is the same for the chart of the cloud provider.
const harvestersCloudProvider = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: harvester-cloud-provider, namespace: {{ .Release.Namespace }}}
spec:
  selector:
    matchLabels: &labels {app.kubernetes.io/name: harvester-cloud-provider, app.kubernetes.io/instance: {{ .Release.Name }}}
  template:
    metadata: {labels: *labels}
    spec:
      containers:
      - name: harvester-cloud-provider
        image: rancher/harvester-cloud-provider:v0.2.8
        command: [harvester-cloud-provider]
        args: [--cloud-config=/etc/kubernetes/cloud-config, --cluster-name={{ .Values.global.cattle.clusterName }}]
        volumeMounts: [{name: cloud-config, mountPath: /etc/kubernetes/cloud-config}]
      volumes: [{name: cloud-config, hostPath: {path: {{ .Values.cloudConfigPath }}, type: File}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kube-vip, namespace: {{ .Release.Namespace }}}
spec:
  selector:
    matchLabels: &vip {app.kubernetes.io/name: kube-vip, app.kubernetes.io/instance: {{ .Release.Name }}}
  template:
    metadata: {labels: *vip}
    spec:
      containers:
      - {name: kube-vip, image: rancher/mirrored-kube-vip-kube-vip-iptables:v1.2.3, args: [manager]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: harvester-cloud-provider}
rules: [{apiGroups: [""], resources: [services], verbs: [get]}]
`

func TestCloudProviderReplacesHarvesterChartAndCleansUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	api := newCluster(t)
	const in = "kube-system"
	values := mustParse(t, `{cloudConfigPath: /etc/kubernetes/admin.conf, global: {cattle: {clusterName: red}}, kube-vip: {env: {vip_interface: eth1}}}`)
	_, err := api.install(t, in, cloudProvider, made(t, cloudProvider, harvestersCloudProvider), values)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = api.upgrade(t, in, cloudProvider, load(t, cloudProvider), values)
	g.Expect(err).NotTo(HaveOccurred())

	provider, vip, role := &appsv1.Deployment{}, &appsv1.DaemonSet{}, &rbacv1.ClusterRole{}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: in, Name: cloudProvider}, provider)).To(Succeed())
	pod := provider.Spec.Template.Spec
	g.Expect(pod.Containers).To(HaveLen(1))
	g.Expect(container(pod).Image).To(HavePrefix("docker.io/faultline/"))
	g.Expect(container(pod).Command).To(BeEmpty())
	g.Expect(container(pod).Args).To(ContainElement("--cluster-name=red"))
	g.Expect(pod.Volumes).To(HaveLen(1))
	g.Expect(pod.Volumes[0].HostPath.Path).To(Equal("/etc/kubernetes/admin.conf"))
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: in, Name: "kube-vip"}, vip)).To(Succeed())
	g.Expect(env(container(vip.Spec.Template.Spec))).To(HaveKeyWithValue("vip_interface", "eth1"))
	g.Expect(api.Get(t.Context(), client.ObjectKey{Name: cloudProvider}, role)).To(Succeed())
	g.Expect(len(role.Rules)).To(BeNumerically(">", 1))

	g.Expect(api.uninstall(t, in, cloudProvider)).To(Succeed())
	for _, object := range mustRender(t, load(t, cloudProvider), ``) {
		if object.GetNamespace() == namespace {
			object.SetNamespace(in)
		}
		err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s %s is left", object.GetKind(), object.GetName())
	}
}
