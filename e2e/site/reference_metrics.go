// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"go/ast"
	"go/types"
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
	page, err := fill("metrics.md", metrics)
	return map[string]string{"metrics.md": page}, err
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
	p, err := readProduct(root)
	if err != nil {
		return nil, err
	}
	var metrics []metric
	for _, file := range p.files {
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if m := p.metric(call); m.Name != "" {
					m.Part = part(file.folder)
					metrics = append(metrics, m)
				}
			}
			return true
		})
	}
	return metrics, nil
}

// metric returns the metric that a call defines, such as prometheus.NewCounterVec(prometheus.CounterOpts{Name: ..., Help: ...}, labels), or
// prometheus.NewDesc(name, help, labels, nil).
func (p *product) metric(call *ast.CallExpr) (m metric) {
	function := types.ExprString(call.Fun)
	if function == "prometheus.NewDesc" {
		m = metric{Name: p.text(call.Args[0]), Help: p.text(call.Args[1]), Labels: p.texts(call.Args[2])}
		m.Type = typeOfMetric(m.Name)
		return m
	}
	kind := regexp.MustCompile(`^prometheus\.New(Counter|Gauge|Histogram|Summary)(Vec)?`).FindStringSubmatch(function)
	if kind == nil {
		return m
	}
	m.Type = strings.ToLower(kind[1])
	if kind[2] != "" {
		m.Labels = p.texts(call.Args[1])
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return m
	}
	for _, element := range options.Elts {
		switch field := element.(*ast.KeyValueExpr); types.ExprString(field.Key) {
		case "Name":
			m.Name = p.text(field.Value)
		case "Help":
			m.Help = p.text(field.Value)
		case "ConstLabels":
			m.Labels = p.texts(field.Value)
		}
	}
	return m
}

// texts returns the texts of a list, or the keys of a map.
func (p *product) texts(expression ast.Expr) (all []string) {
	literal, ok := expression.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Key
		}
		all = append(all, p.text(element))
	}
	return all
}
