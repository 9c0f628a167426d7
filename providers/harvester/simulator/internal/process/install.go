// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// strategyLabel is set on the ConfigMap to which virt-operator writes its install strategy.
const strategyLabel = "kubevirt.io/install-strategy"

// release holds the objects that KubeVirt installs, as far as they are relevant without Pods.
type release struct {
	crds       []*apiextensionsv1.CustomResourceDefinition
	rbac       []*unstructured.Unstructured
	mutating   []*admissionregistrationv1.MutatingWebhookConfiguration
	validating []*admissionregistrationv1.ValidatingWebhookConfiguration
}

// install creates KubeVirt's CRDs, its configuration and the RBAC objects of its programs. Webhooks are registered when they are
// served.
func (k *KubeVirt) install(ctx context.Context) error {
	if err := k.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	if err := k.readInstallStrategy(ctx); err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(k.config, envtest.CRDInstallOptions{CRDs: append(k.release.crds, kubeVirtCRD())}); err != nil {
		return fmt.Errorf("installing KubeVirt's CRDs: %w", err)
	}
	for _, object := range k.release.rbac {
		if err := k.client.Create(ctx, object); err != nil {
			return fmt.Errorf("installing %s %s of KubeVirt: %w", object.GetKind(), object.GetName(), err)
		}
	}
	authority := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubevirt-ca"}, Data: map[string]string{"ca-bundle": string(k.certificate)},
	}
	for _, object := range []client.Object{authority, kubeVirtConfiguration()} {
		if err := k.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s of KubeVirt: %w", object.GetName(), err)
		}
	}
	return nil
}

// readInstallStrategy runs virt-operator to write its install strategy.
func (k *KubeVirt) readInstallStrategy(ctx context.Context) error {
	access := filepath.Join(k.folder, "virt-operator.kubeconfig")
	if err := k.writeKubeconfig(access, k.config); err != nil {
		return err
	}
	operator, err := Start(ctx, Command{
		Name: virtOperator, Path: k.path(virtOperator), Args: []string{"--dump-install-strategy", "--kubeconfig=" + access},
		// The registry of the images is irrelevant.
		Env: []string{"VIRT_OPERATOR_IMAGE=simulated/virt-operator:simulated"}, Log: k.log(virtOperator),
	})
	if err != nil {
		return err
	}
	if err := operator.Wait(ctx); err != nil {
		return err
	}
	found := &corev1.ConfigMapList{}
	if err := k.client.List(ctx, found, client.InNamespace(namespace), client.HasLabels{strategyLabel}); err != nil {
		return fmt.Errorf("reading the install strategy of virt-operator: %w", err)
	}
	if len(found.Items) != 1 {
		return fmt.Errorf("%s wrote %d ConfigMaps with an install strategy, want 1", virtOperator, len(found.Items))
	}
	k.release, err = parseManifests(found.Items[0].Data["manifests"])
	return err
}

// parseManifests parses the objects in the ConfigMap.
func parseManifests(manifests string) (*release, error) {
	unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewBufferString(manifests)))
	if err != nil {
		return nil, fmt.Errorf("unpacking KubeVirt's manifests: %w", err)
	}
	r := &release{}
	for decoder := yaml.NewYAMLOrJSONDecoder(unpacked, len(manifests)); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err == nil {
			err = r.add(object)
		}
		if err != nil {
			return nil, fmt.Errorf("reading KubeVirt's manifests: %w", err)
		}
	}
}

func (r *release) add(object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "CustomResourceDefinition":
		crd := &apiextensionsv1.CustomResourceDefinition{}
		r.crds = append(r.crds, crd)
		return convert(object, crd)
	case "MutatingWebhookConfiguration":
		webhooks := &admissionregistrationv1.MutatingWebhookConfiguration{}
		r.mutating = append(r.mutating, webhooks)
		return convert(object, webhooks)
	case "ValidatingWebhookConfiguration":
		webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		r.validating = append(r.validating, webhooks)
		return convert(object, webhooks)
	case "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
		if in := object.GetNamespace(); in == "" || in == namespace {
			r.rbac = append(r.rbac, object)
		}
	}
	return nil
}

func convert(object *unstructured.Unstructured, typed any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// kubeVirtCRD returns the CRD of the KubeVirt kind. Upstream's has a schema; the programs ignore unknown fields.
func kubeVirtCRD() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "kubevirts." + kubevirtv1.GroupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kubevirtv1.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "KubeVirt", ListKind: "KubeVirtList", Plural: "kubevirts", Singular: "kubevirt"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kubevirtv1.GroupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
}

// kubeVirtConfiguration returns the configuration that Harvester sets for KubeVirt, as far as it affects components that are not
// simulated.
func kubeVirtConfiguration() client.Object {
	return &kubevirtv1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubevirt"},
		Spec: kubevirtv1.KubeVirtSpec{Configuration: kubevirtv1.KubeVirtConfiguration{
			DeveloperConfiguration: &kubevirtv1.DeveloperConfiguration{FeatureGates: []string{"HotplugVolumes", "Snapshot"}},
			EvictionStrategy:       ptr.To(kubevirtv1.EvictionStrategyLiveMigrateIfPossible),
			VMRolloutStrategy:      ptr.To(kubevirtv1.VMRolloutStrategyLiveUpdate),
		}},
	}
}
