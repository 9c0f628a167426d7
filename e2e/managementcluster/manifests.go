// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// manifests is the part of a component's kustomize folder that is needed to run its Deployment as a process.
type manifests struct {
	objects []*unstructured.Unstructured // to be created
	args    []string                     // of the manager's container
	account types.NamespacedName         // the ServiceAccount that the manager runs as
	// deployment is the Deployment of the manager.
	deployment *appsv1.Deployment
}

// render builds the kustomize folder and replaces its ${VARIABLES}, as a release and clusterctl do with the same files.
func render(folder string, variables map[string]string) (manifests, error) {
	raw, err := Build(folder)
	if err != nil {
		return manifests{}, err
	}
	objects, err := Fill(raw, variables)
	if err != nil {
		return manifests{}, fmt.Errorf("rendering %s: %w", folder, err)
	}
	return sortOut(objects)
}

// Build builds a kustomize folder.
func Build(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", folder, err)
	}
	return resources.AsYaml()
}

// Fill substitutes variables in YAML documents and returns their objects.
func Fill(content []byte, variables map[string]string) ([]*unstructured.Unstructured, error) {
	filled, err := Substitute(content, variables)
	if err != nil {
		return nil, err
	}
	return Decode(filled)
}

// Substitute replaces ${NAME} and ${NAME:=default} like clusterctl. A variable with neither a value nor a default results in an error
// that names it.
func Substitute(content []byte, variables map[string]string) ([]byte, error) {
	return yamlprocessor.NewSimpleProcessor().Process(content, func(name string) (string, error) {
		value, ok := variables[name]
		if !ok {
			return "", fmt.Errorf("no value for %s", name)
		}
		return value, nil
	})
}

// Decode decodes a stream of YAML documents and skips empty ones.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding YAML: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Untyped converts objects, which must have their kind set, into the type of Component.Objects.
func Untyped[T client.Object](list []T) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(list))
	for _, typed := range list {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			return nil, fmt.Errorf("converting %T %s: %w", typed, typed.GetName(), err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}

// sortOut separates the objects to create from the Deployment, and drops objects that need pods: the Service, and cert-manager's objects,
// because the cluster issues its own certificates.
func sortOut(objects []*unstructured.Unstructured) (manifests, error) {
	var m manifests
	for _, object := range objects {
		switch object.GroupVersionKind().GroupKind().String() {
		case "Deployment.apps":
			m.deployment = &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, m.deployment); err != nil {
				return manifests{}, fmt.Errorf("reading Deployment %s: %w", object.GetName(), err)
			}
			pod := m.deployment.Spec.Template.Spec
			m.args = managerArgs(pod)
			m.account = types.NamespacedName{Namespace: object.GetNamespace(), Name: pod.ServiceAccountName}
		case "Service", "Issuer.cert-manager.io", "Certificate.cert-manager.io":
		default:
			m.objects = append(m.objects, object)
		}
	}
	if m.deployment == nil {
		return manifests{}, errors.New("reading the manifests: no Deployment of the manager found")
	}
	return m, nil
}

// withoutReplicas makes a Deployment run nothing, and returns it. Its images get the tag version, unless that is empty: Cluster API's sources
// do not contain the version.
func withoutReplicas(deployment *appsv1.Deployment, version string) ([]*unstructured.Unstructured, error) {
	deployment.Spec.Replicas = new(int32(0))
	containers := deployment.Spec.Template.Spec.Containers
	for i := range containers {
		if version != "" {
			containers[i].Image = tagged(containers[i].Image, version)
		}
	}
	return Untyped([]*appsv1.Deployment{deployment})
}

// tagged returns an image with another tag.
func tagged(image, tag string) string {
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		image = image[:at]
	}
	return image + ":" + tag
}

func managerArgs(pod corev1.PodSpec) []string {
	for _, container := range pod.Containers {
		if container.Name == "manager" {
			return container.Args
		}
	}
	return nil
}
