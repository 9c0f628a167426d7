// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// rendered holds the objects of a chart.
type rendered []*unstructured.Unstructured

// render renders a chart with these YAML values, as `helm template` does.
func render(what *chart.Chart, values string) (rendered, error) {
	given, err := parse(values)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{})
	install.ReleaseName, install.Namespace, install.DryRun, install.ClientOnly = what.Name(), namespace, true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	release, err := install.Run(what, given)
	if err != nil {
		return nil, err
	}
	return objects(release.Manifest)
}

func mustRender(t *testing.T, what *chart.Chart, values string) rendered {
	t.Helper()
	all, err := render(what, values)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(values string) (map[string]any, error) {
	given := map[string]any{}
	return given, sigsyaml.Unmarshal([]byte(values), &given)
}

func mustParse(t *testing.T, values string) map[string]any {
	t.Helper()
	given, err := parse(values)
	if err != nil {
		t.Fatal(err)
	}
	return given
}

func objects(manifest string) (rendered, error) {
	var all rendered
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// find returns the object of a kind and a name, or nil.
func (r rendered) find(kind, name string) *unstructured.Unstructured {
	for _, object := range r {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

func get[T any](t *testing.T, all rendered, kind, name string) *T {
	t.Helper()
	object := all.find(kind, name)
	if object == nil {
		t.Fatalf("%s %s not found", kind, name)
	}
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return typed
}

func deployment(t *testing.T, all rendered, name string) *appsv1.Deployment {
	t.Helper()
	return get[appsv1.Deployment](t, all, "Deployment", name)
}

func container(pod corev1.PodSpec) corev1.Container { return pod.Containers[0] }

func env(c corev1.Container) map[string]string {
	values := map[string]string{}
	for _, v := range c.Env {
		values[v.Name] = v.Value
	}
	return values
}
