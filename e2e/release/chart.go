// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// chartTemplates has the files of the chart except for Helm's templates, as templates of package template.
//
//go:embed chart
var chartTemplates embed.FS

// chartPrefix is the prefix of the names of the providers' charts.
const chartPrefix = "cluster-api-provider-"

// clusterctlLabel on CRDs makes `clusterctl move` and `clusterctl describe` find their objects. clusterctl itself sets it on what it installs.
const clusterctlLabel = "clusterctl.cluster.x-k8s.io"

// Chart returns the Helm chart of a provider. It is made from the components for clusterctl: only its values are defined here.
func (r Release) Chart(provider string) (*chart.Chart, error) {
	components, err := Components(filepath.Join(r.Root, "providers", provider, "config", "default"))
	if err != nil {
		return nil, err
	}
	c := chartBuilder{provider: provider, variables: map[string]string{}, required: map[string]bool{}}
	if err := c.read(WithImages(components, r.Name)); err != nil {
		return nil, fmt.Errorf("making the chart of %s: %w", provider, err)
	}
	files, err := c.files(r.Version)
	if err != nil {
		return nil, fmt.Errorf("making the chart of %s: %w", provider, err)
	}
	built, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("making the chart of %s: %w", provider, err)
	}
	return built, built.Validate()
}

// packCharts writes the charts of the providers into a folder.
func (r Release) packCharts(providers []string, into string) error {
	for _, provider := range providers {
		c, err := r.Chart(provider)
		if err != nil {
			return err
		}
		if _, err := chartutil.Save(c, into); err != nil {
			return fmt.Errorf("packing chart %s: %w", c.Name(), err)
		}
	}
	return nil
}

// chartBuilder converts components to a chart.
type chartBuilder struct {
	provider string
	// namespace is the namespace in the components, which the chart replaces by that of the release.
	namespace string
	// image is the image of the manager, resources its resources, memory its GOMEMLIMIT.
	image, memory       string
	resources, replicas any
	// variables are those of the components for clusterctl, with their defaults; required has those without one.
	variables                 map[string]string
	required                  map[string]bool
	crds, credentials, others bytes.Buffer
}

// Placeholders in objects. They are replaced by template actions in the YAML of the objects.
const (
	replicasHere  = "CHART-REPLICAS"
	resourcesHere = "CHART-RESOURCES"
	argumentsHere = "CHART-ARGUMENTS"
	memoryHere    = "CHART-MEMORY"
	imageHere     = "CHART-IMAGE"
	policyHere    = "CHART-PULL-POLICY"
	secretsHere   = "CHART-PULL-SECRETS" //nolint:gosec // The name of a placeholder.
	keepHere      = "CHART-KEEP"
)

func (c *chartBuilder) read(components []byte) error {
	objects, err := managementcluster.Decode(components)
	if err != nil {
		return err
	}
	for i, object := range objects {
		if object.GetKind() == "Namespace" {
			c.namespace = object.GetName()
			objects = slices.Delete(objects, i, i+1)
			break
		}
	}
	for _, object := range objects {
		if err := c.add(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if c.namespace == "" || c.image == "" {
		return fmt.Errorf("the components have no Namespace or no manager")
	}
	return nil
}

// add adds an object to the file that it belongs to.
func (c *chartBuilder) add(object *unstructured.Unstructured) error {
	file := &c.others
	switch object.GetKind() {
	case "CustomResourceDefinition":
		file = &c.crds
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		labels[clusterctlLabel], annotations[keepHere] = "", ""
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
	case "Secret":
		file = &c.credentials
	case "Deployment":
		if err := c.manager(object); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	file.WriteString("---\n" + c.template(string(text)))
	return nil
}

// manager replaces what values set in the Deployment of the manager, and reads the defaults.
func (c *chartBuilder) manager(deployment *unstructured.Unstructured) error {
	pod, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if err != nil {
		return err
	}
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		return fmt.Errorf("has %d containers, the chart has values for one", len(containers))
	}
	container, _ := containers[0].(map[string]any)
	c.replicas, _, _ = unstructured.NestedFieldNoCopy(deployment.Object, "spec", "replicas") // an integer or a float, depending on the decoder
	c.image, _ = container["image"].(string)
	c.resources = container["resources"]
	container["image"], container["imagePullPolicy"], container["resources"] = imageHere, policyHere, resourcesHere
	args, _ := container["args"].([]any)
	container["args"] = append(args, argumentsHere)
	variables, _ := container["env"].([]any)
	for _, variable := range variables {
		if fields, _ := variable.(map[string]any); fields["name"] == "GOMEMLIMIT" {
			c.memory, _ = fields["value"].(string)
			fields["value"] = memoryHere
		}
	}
	pod["imagePullSecrets"] = secretsHere
	if err := unstructured.SetNestedMap(deployment.Object, pod, "spec", "template", "spec"); err != nil {
		return err
	}
	return unstructured.SetNestedField(deployment.Object, replicasHere, "spec", "replicas")
}

// template returns the YAML of an object with actions instead of placeholders, variables and the namespace.
func (c *chartBuilder) template(text string) string {
	text = strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
	for line, action := range map[string]string{
		"resources: " + resourcesHere:      "${1}resources: {{ toJson .Values.resources }}",
		"imagePullSecrets: " + secretsHere: "{{- with .Values.imagePullSecrets }}\n${1}imagePullSecrets: {{ toJson . }}\n{{- end }}",
		"- " + argumentsHere:               "{{- range .Values.extraArgs }}\n${1}- {{ toJson . }}\n{{- end }}",
		keepHere + `: ""`:                  "{{- if .Values.crds.keep }}\n${1}helm.sh/resource-policy: keep\n{{- end }}",
	} {
		text = regexp.MustCompile(`(?m)^( *)`+regexp.QuoteMeta(line)+`$`).ReplaceAllString(text, action)
	}
	text = strings.NewReplacer(
		replicasHere, "{{ .Values.replicas }}", memoryHere, "{{ .Values.goMemoryLimit | quote }}", policyHere, "{{ .Values.image.pullPolicy }}",
		imageHere, `"{{ .Values.image.registry }}/{{ .Values.image.name }}:{{ .Values.image.tag | default .Chart.AppVersion }}"`,
	).Replace(text)
	text = strings.ReplaceAll(text, c.namespace, "{{ .Release.Namespace }}")
	return c.withValues(text)
}

// withValues replaces the variables of clusterctl by values of the same names. The default of a variable may be another variable. Quotes are
// part of a default, as for clusterctl.
func (c *chartBuilder) withValues(text string) string {
	text = regexp.MustCompile(`\$\{(\w+):[=-]\$\{(\w+)\}\}`).ReplaceAllStringFunc(text, func(found string) string {
		names := regexp.MustCompile(`\w+`).FindAllString(found, 2)
		c.variables[names[0]], c.variables[names[1]] = "", ""
		return fmt.Sprintf("{{ .Values.variables.%s | default .Values.variables.%s }}", names[0], names[1])
	})
	return regexp.MustCompile(`\$\{(\w+)(?::[=-][^}]*)?\}`).ReplaceAllStringFunc(text, func(found string) string {
		parts := regexp.MustCompile(`\$\{(\w+)(?:(:[=-])([^}]*))?\}`).FindStringSubmatch(found)
		c.variables[parts[1]] = parts[3]
		if parts[2] != "" {
			return fmt.Sprintf("{{ .Values.variables.%s }}", parts[1])
		}
		c.required[parts[1]] = true
		return fmt.Sprintf("{{ required %q .Values.variables.%s }}", "variables."+parts[1]+" must be set", parts[1])
	})
}

// files returns the files of the chart. Helm's versions have no v.
func (c *chartBuilder) files(version string) ([]*loader.BufferedFile, error) {
	at := strings.LastIndexByte(c.image, '/')
	name, _, _ := strings.Cut(c.image[at+1:], ":")
	values := map[string]any{
		"Chart": chartPrefix + c.provider, "Provider": c.provider, "Version": strings.TrimPrefix(version, "v"), "AppVersion": version,
		"Registry": c.image[:at], "Image": name, "Replicas": c.replicas, "Resources": indented(c.resources), "Memory": c.memory,
		"Secrets": c.credentials.Len() > 0, "Variables": c.variables, "Required": c.required,
	}
	files := []*loader.BufferedFile{
		{Name: "templates/crds.yaml", Data: []byte("{{- if .Values.crds.enabled }}\n" + c.crds.String() + "{{- end }}\n")},
		{Name: "templates/manager.yaml", Data: c.others.Bytes()},
	}
	if c.credentials.Len() > 0 {
		files = append(files, &loader.BufferedFile{
			Name: "templates/secrets.yaml", Data: []byte("{{- if .Values.secrets.create }}\n" + c.credentials.String() + "{{- end }}\n"),
		})
	}
	templates, err := template.ParseFS(chartTemplates, "chart/*.tmpl")
	if err != nil {
		return nil, err
	}
	for _, one := range templates.Templates() {
		var text bytes.Buffer
		if err := one.Execute(&text, values); err != nil {
			return nil, err
		}
		files = append(files, &loader.BufferedFile{Name: strings.TrimSuffix(one.Name(), ".tmpl"), Data: text.Bytes()})
	}
	return files, nil
}

// indented returns the YAML of a value, indented by two spaces.
func indented(value any) string {
	text, _ := yaml.Marshal(value) // It was read from YAML.
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(string(text), "  $1")
}
