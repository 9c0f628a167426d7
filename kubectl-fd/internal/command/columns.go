// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
)

// columnsPrinter prints objects like -o custom-columns of kubectl, which has it in the package of its get command and not in a library.
type columnsPrinter struct {
	headers   []string
	paths     []*jsonpath.JSONPath
	noHeaders bool
}

// newColumnsPrinter parses HEADER:PATH,... Braces and the first dot of a path are optional.
func newColumnsPrinter(spec string, noHeaders bool) (*columnsPrinter, error) {
	p := &columnsPrinter{noHeaders: noHeaders}
	for column := range strings.SplitSeq(spec, ",") {
		header, path, _ := strings.Cut(column, ":")
		path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}"), ".")
		if header == "" || path == "" {
			return nil, fmt.Errorf("invalid column %q of custom-columns: must be HEADER:PATH, such as NAME:.name", column)
		}
		parsed := jsonpath.New(header).AllowMissingKeys(true)
		if err := parsed.Parse("{." + path + "}"); err != nil {
			return nil, fmt.Errorf("invalid path of column %s: %w", header, err)
		}
		p.headers, p.paths = append(p.headers, header), append(p.paths, parsed)
	}
	return p, nil
}

// PrintObj prints an object, or each object of a list. It prints the headers once.
func (p *columnsPrinter) PrintObj(object runtime.Object, out io.Writer) error {
	var items []unstructured.Unstructured
	switch object := object.(type) {
	case *unstructured.UnstructuredList:
		items = object.Items
	case *unstructured.Unstructured:
		items = []unstructured.Unstructured{*object}
	}
	w := printers.GetNewTabWriter(out)
	if !p.noHeaders {
		_, _ = fmt.Fprintln(w, strings.Join(p.headers, "\t"))
		p.noHeaders = true
	}
	for i := range items {
		cells := make([]string, 0, len(p.paths))
		for _, path := range p.paths {
			cell, err := cellOf(path, items[i].Object)
			if err != nil {
				return err
			}
			cells = append(cells, cell)
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// cellOf returns the values at a path, separated by commas, or <none>.
func cellOf(path *jsonpath.JSONPath, object map[string]any) (string, error) {
	results, err := path.FindResults(object)
	if err != nil {
		return "", err
	}
	var values []string
	for _, result := range results {
		for _, value := range result {
			values = append(values, strings.ReplaceAll(fmt.Sprint(value.Interface()), "\n", " "))
		}
	}
	if len(values) == 0 {
		return "<none>", nil
	}
	return strings.Join(values, ","), nil
}
