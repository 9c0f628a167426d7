// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"os/exec"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/offline"
)

// variants returns values that cover every object of a chart in every form.
func variants() map[string][]string {
	return map[string][]string{
		loadBalancer: {
			``,
			`{replicaCount: 1, nameOverride: lb, serviceAccount: {annotations: {a: b}}, imagePullSecrets: [{name: a}], podLabels: {a: b}, podAnnotations: {a: b}}`,
			`{certManager: {enabled: true}, networkPolicy: {enabled: true}, resources: {limits: null}, priorityClassName: "", topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}`,
			`{certManager: {enabled: true, issuerRef: {name: ours}}, crds: {keep: false}, diagnostics: {insecure: true}}`,
		},
		cloudProvider: {
			``,
			`{replicasCount: 2, clusterName: red, cloudConfig: {secretName: harvester}, extraArgs: [--v=5], serviceAccount: {name: a, annotations: {a: b}}}`,
			`{nameOverride: cp, imagePullSecrets: [{name: a}], podLabels: {a: b}, podAnnotations: {a: b}, priorityClassName: "", podDisruptionBudget: {maxUnavailable: "50%"}}`,
			`kube-vip: {enabled: false}`,
			`kube-vip: {env: {svc_election: "true"}, config: {address: 10.0.0.1}, envValueFrom: {bgp_routerid: {fieldRef: {fieldPath: status.podIP}}}, envFrom: [{secretRef: {name: a}}]}`,
			`kube-vip: {extraArgs: {prometheusHTTPServer: ":2113"}, hostAliases: [{ip: 10.0.0.1, hostnames: [a]}], volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a}]}`,
			`kube-vip: {podMonitor: {enabled: true, labels: {a: b}, annotations: {a: b}}, podSecurityContext: {runAsUser: 0}, nodeSelector: {a: b}}`,
		},
	}
}

// TestChartsAndExamplesOnAnAPIServer runs tests that do not disturb each other on one API server with the kinds of all third parties.
func TestChartsAndExamplesOnAnAPIServer(t *testing.T) {
	t.Parallel()
	api := newCluster(t, slices.Concat(certManagerKinds(t), []*apiextensionsv1.CustomResourceDefinition{podMonitors()}, gitOpsKinds(t))...)
	for name, test := range map[string]func(*testing.T, *cluster){
		"a strict API server accepts the objects": acceptsObjects,
		"GitOps examples are valid":               gitOpsExamplesAreValid,
		"managers run in a restricted namespace":  managersRunInRestrictedNamespace,
		"uninstalling provider charts keeps CRDs": providerChartsKeepCRDs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, api)
		})
	}
}

// acceptsObjects creates the objects of the charts of Harvester in a dry run that rejects unknown fields.
func acceptsObjects(t *testing.T, api *cluster) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(client.IgnoreAlreadyExists(api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
	strict := client.WithFieldValidation(client.NewDryRunClient(api.Client), metav1.FieldValidationStrict)
	for name, all := range variants() {
		for _, values := range all {
			for _, object := range mustRender(t, load(t, name), values) {
				what := name + " with " + values + ": " + object.GetKind() + " " + object.GetName()
				g.Expect(strict.Create(t.Context(), object)).To(Succeed(), what)
			}
		}
	}
}

// certManagerKinds returns the CRDs of cert-manager from its module.
func certManagerKinds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	find := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
	find.Dir = "../offline/build/certmanager"
	out, err := find.Output()
	if err != nil {
		t.Fatalf("finding cert-manager: %v: %s", err, out)
	}
	module := mustParse(t, string(out))
	manifest, err := offline.CertManagerManifest(module["Dir"].(string), module["Version"].(string), "v1.36.0")
	if err != nil {
		t.Fatal(err)
	}
	all, err := objects(string(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, object := range all {
		if object.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, get[apiextensionsv1.CustomResourceDefinition](t, all, object.GetKind(), object.GetName()))
		}
	}
	return crds
}

// podMonitors returns a CRD of the Prometheus operator with the fields that charts use.
func podMonitors() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	endpoint := object(map[string]apiextensionsv1.JSONSchemaProps{"port": text})
	labels := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{"spec": object(map[string]apiextensionsv1.JSONSchemaProps{
		"selector":            object(map[string]apiextensionsv1.JSONSchemaProps{"matchLabels": labels}),
		"podMetricsEndpoints": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &endpoint}},
	})})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "podmonitors.monitoring.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "podmonitors", Singular: "podmonitor", Kind: "PodMonitor", ListKind: "PodMonitorList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
			}},
		},
	}
}
