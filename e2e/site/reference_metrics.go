// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/faultline-io/faultline/shared/distribution"
)

// metric is a metric of a manager.
type metric struct {
	Name, Type, Help string
	Labels           []string
	Part             string
}

// metricsPage returns the page of the metrics that the product defines.
func metricsPage(root string) (map[string]string, error) {
	metrics, err := domainMetrics()
	if err != nil {
		return nil, err
	}
	defined, err := definedMetrics(root)
	if err != nil {
		return nil, err
	}
	metrics = append(metrics, defined...)
	slices.SortFunc(metrics, func(a, b metric) int { return strings.Compare(a.Name, b.Name) })
	rows := make([][]string, len(metrics))
	for i, m := range metrics {
		rows[i] = []string{code(m.Name), m.Type, codes(m.Labels), text(m.Help), code(m.Part)}
	}
	return map[string]string{"metrics.md": "# Metrics\n\nThe metrics that Faultline's managers define, from the code; `shared` stands for the managers of all providers. " +
		"They also export those of controller-runtime and of the Go runtime, on the port of the [diagnostics endpoint](ports-rbac.md). " +
		"[Monitoring](monitoring/README.md) has alerts and a dashboard.\n\n" + table([]string{"Metric", "Type", "Labels", "Description", "Exported by"}, rows)}, nil
}

// domainMetrics returns the metrics of failure domains: their names are known only at run time.
func domainMetrics() ([]metric, error) {
	collector, err := distribution.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	descriptions := make(chan *prometheus.Desc)
	go func() { defer close(descriptions); collector.Describe(descriptions) }()
	var metrics []metric
	for description := range descriptions {
		found := regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]+)", .*variableLabels: \{([^}]*)\}`).FindStringSubmatch(description.String())
		if found == nil {
			err = fmt.Errorf("the description of a metric is not understood: %s", description)
			continue
		}
		metrics = append(metrics, metric{Name: found[1], Type: typeOfMetric(found[1]), Help: found[2], Labels: strings.Split(found[3], ","), Part: "shared"})
	}
	return metrics, err
}

// typeOfMetric returns the type of a metric that is described apart from its values.
func typeOfMetric(name string) string {
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

// definedMetrics returns the metrics that the code defines with options or a description.
func definedMetrics(root string) ([]metric, error) {
	r, _, err := newResolver(root)
	if err != nil {
		return nil, err
	}
	var metrics []metric
	err = eachFile(root, func(folder, _ string, parsed *ast.File) {
		of := &declared{constant: constant{Folder: folder}, imports: imports(parsed)}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if m := r.metric(of, call); m.Name != "" {
					metrics = append(metrics, m)
				}
			}
			return true
		})
	})
	return metrics, cmp.Or(err, r.err)
}

// metric returns the metric that a call defines, such as prometheus.NewCounterVec(prometheus.CounterOpts{Name: ..., Help: ...}, labels), or
// prometheus.NewDesc(name, help, labels, nil).
func (r *resolver) metric(of *declared, call *ast.CallExpr) metric {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || qualifier(function) != "prometheus" || len(call.Args) == 0 {
		return metric{}
	}
	m := metric{Part: part(of.Folder)}
	if function.Sel.Name == "NewDesc" {
		m.Name, m.Help = r.value(of, call.Args[0]), r.value(of, call.Args[1])
		m.Type, m.Labels = typeOfMetric(m.Name), r.list(of, call.Args[2])
		return m
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return metric{}
	}
	r.options(&m, of, options)
	m.Type = strings.ToLower(regexp.MustCompile("Counter|Gauge|Histogram|Summary").FindString(function.Sel.Name))
	if len(call.Args) > 1 && strings.HasSuffix(function.Sel.Name, "Vec") {
		m.Labels = r.list(of, call.Args[1])
	}
	return m
}

// options reads the options of a metric.
func (r *resolver) options(m *metric, of *declared, options *ast.CompositeLit) {
	for _, element := range options.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch fmt.Sprint(field.Key) {
		case "Name":
			m.Name = r.value(of, field.Value)
		case "Help":
			m.Help = r.value(of, field.Value)
		case "ConstLabels":
			m.Labels = r.list(of, field.Value)
		}
	}
}

// list returns the texts of a list, or the keys of a map.
func (r *resolver) list(of *declared, expression ast.Expr) []string {
	literal, ok := expression.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var all []string
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Key
		}
		all = append(all, r.value(of, element))
	}
	return all
}

func qualifier(e *ast.SelectorExpr) string {
	if name, ok := e.X.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
