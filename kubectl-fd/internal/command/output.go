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
func templates() []string { return []string{"jsonpath", "go-template", "custom-columns"} }

// printList prints values of a kind as a list in JSON or YAML, with a template, or in columns.
func printList[T any](r *root, format string, noHeaders bool, kind string, values []T) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for i := range values {
		object, err := outputObject(kind, &values[i])
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *object)
	}
	printer, err := printerFor(format, noHeaders)
	if err != nil {
		return err
	}
	return printer.PrintObj(list, r.Out)
}

// outputObject returns a value as an object of the output.
func outputObject(kind string, value any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = outputVersion, kind
	return &unstructured.Unstructured{Object: fields}, nil
}

// printerFor returns the printer of a format that prints objects.
func printerFor(format string, noHeaders bool) (printers.ResourcePrinter, error) {
	if columns, custom := strings.CutPrefix(format, "custom-columns="); custom {
		return newColumnsPrinter(columns, noHeaders)
	}
	if strings.Contains(format, "=") {
		return genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(format)
	}
	return (&genericclioptions.JSONYamlPrintFlags{}).ToPrinter(format)
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
