// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// outputVersion is the API version in the output of -o json and -o yaml.
const outputVersion = "kubectl-fd.faultline.io/v1beta1"

// oneOf returns an error for an output format that a command does not support.
func oneOf(format string, formats ...string) error {
	name, template, _ := strings.Cut(format, "=")
	isTemplate := slices.Contains(templates(), name)
	if format == "" || slices.Contains(formats, name) && isTemplate == (template != "") {
		return nil
	}
	if isTemplate && slices.Contains(formats, name) {
		return fmt.Errorf("output format %s must have a template: %s=TEMPLATE", name, name)
	}
	return fmt.Errorf("invalid output format %q: must be one of %s", format, strings.Join(formats, ", "))
}

// templates are the output formats that need a template.
func templates() []string { return []string{"jsonpath", "go-template"} }

// printList prints values of a kind as a list in JSON or YAML, or with a template.
func printList[T any](r *root, format, kind string, values []T) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for i := range values {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&values[i])
		if err != nil {
			return err
		}
		fields["apiVersion"], fields["kind"] = outputVersion, kind
		list.Items = append(list.Items, unstructured.Unstructured{Object: fields})
	}
	if strings.Contains(format, "=") {
		printer, err := genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(format)
		if err != nil {
			return err
		}
		return printer.PrintObj(list, r.Out)
	}
	printer, err := (&genericclioptions.JSONYamlPrintFlags{}).ToPrinter(format)
	if err != nil {
		return err
	}
	return printer.PrintObj(list, r.Out)
}

// printNames prints clusters as kubectl -o name does.
func printNames(r *root, clusters []report.Cluster) error {
	printer := &printers.NamePrinter{}
	for _, cluster := range clusters {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Cluster"))
		object.SetName(cluster.Name)
		if err := printer.PrintObj(object, r.Out); err != nil {
			return err
		}
	}
	return nil
}
