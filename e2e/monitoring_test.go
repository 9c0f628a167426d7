// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/faultline-io/faultline/e2e/monitoring"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// exported are the names of the metrics of failure domains and of load balancers.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	descriptions := make(chan *prometheus.Desc)
	go func() { metrics.Describe(descriptions); close(descriptions) }()
	names, name := map[string]bool{lbv1.BalancersMetric: true}, regexp.MustCompile(`fqName: "([^"]+)"`)
	for description := range descriptions {
		names[name.FindStringSubmatch(description.String())[1]] = true
	}
	return names
}

// uses checks that an expression can be evaluated, of metrics that exist, and returns which.
func uses(t *testing.T, expression string, known map[string]bool) []string {
	t.Helper()
	g := NewWithT(t)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	g.Expect(err).NotTo(HaveOccurred(), expression)
	var names []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			g.Expect(known).To(HaveKey(selector.Name), expression)
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

func TestAlertsAreOfMetricsThatExist(t *testing.T) {
	g := NewWithT(t)
	groups, errs := rulefmt.ParseFile(filepath.Join("..", "docs", "monitoring", "rules.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	g.Expect(errs).To(BeEmpty())
	readme, err := os.ReadFile(filepath.Join("..", "docs", "monitoring", "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	known := exported(t)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			g.Expect(uses(t, rule.Expr, known)).NotTo(BeEmpty())
			g.Expect(string(readme)).To(ContainSubstring("`" + rule.Alert + "`"))
		}
	}
}

func TestDashboardIsOfMetricsThatExistAndShowsAllOfThem(t *testing.T) {
	g := NewWithT(t)
	dashboard, err := monitoring.Load(filepath.Join("..", "docs", "monitoring", "dashboard.json"))
	g.Expect(err).NotTo(HaveOccurred())
	known, shown := exported(t), map[string]bool{}
	for _, panel := range dashboard.Panels {
		g.Expect(panel.Targets).NotTo(BeEmpty(), panel.Title)
		for _, target := range panel.Targets {
			for _, name := range uses(t, monitoring.Everything(target.Expr), known) {
				shown[name] = true
			}
		}
	}
	g.Expect(shown).To(Equal(known))
}

func TestMetricsAreDocumented(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join("..", "docs", "install.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for name := range exported(t) {
		g.Expect(string(content)).To(ContainSubstring("`" + name + "{"))
	}
}
