// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/version"
)

// exported returns the names of the metrics of failure domains and of load balancers.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	collector, err := distribution.NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	descriptions := make(chan *prometheus.Desc)
	go func() { collector.Describe(descriptions); close(descriptions) }()
	names, name := map[string]bool{lbv1.BalancersMetric: true}, regexp.MustCompile(`fqName: "([^"]+)"`)
	for description := range descriptions {
		names[name.FindStringSubmatch(description.String())[1]] = true
	}
	return names
}

// uses verifies that an expression is valid and uses only existing metrics, and returns their names.
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

// series holds what managers export in an hour, in the notation of Prometheus' own tests. In cluster prod, zone-a is Cordoned, its
// machines are spread unevenly, one waits, two are misplaced, and a move has ended. Cluster calm is healthy, and single has one machine.
const series = `
faultline_failure_domain_state{cluster="prod", domain="zone-a", state="Active"} 0x60
faultline_failure_domain_state{cluster="prod", domain="zone-a", state="Cordoned"} 1x60
faultline_failure_domain_state{cluster="prod", domain="zone-a", state="Evicting"} 0x60
faultline_failure_domain_state{cluster="prod", domain="zone-b", state="Active"} 1x60
faultline_failure_domain_state{cluster="prod", domain="zone-b", state="Cordoned"} 0x60
faultline_failure_domain_state{cluster="prod", domain="zone-b", state="Evicting"} 0x60
faultline_failure_domain_state{cluster="prod", domain="zone-c", state="Active"} 1x60
faultline_failure_domain_state{cluster="prod", domain="zone-c", state="Cordoned"} 0x60
faultline_failure_domain_state{cluster="prod", domain="zone-c", state="Evicting"} 0x60
faultline_failure_domain_machines{cluster="prod", domain="zone-b", role="control-plane"} 3x60
faultline_failure_domain_machines{cluster="prod", domain="zone-c", role="control-plane"} 0x60
faultline_failure_domain_machines{cluster="prod", domain="zone-b", role="worker"} 2x60
faultline_failure_domain_skew{cluster="prod"} 3x60
faultline_failure_domain_worker_skew{cluster="prod", machine_deployment="md-a"} 2x60
faultline_failure_domain_worker_skew{cluster="prod", machine_deployment="md-b"} 1x60
faultline_failure_domain_waiting_machines{cluster="prod", reason="FailureDomainNotReady"} 1x60
faultline_failure_domain_misplaced_machines{cluster="prod"} 2x60
faultline_failure_domain_moves_total{cluster="prod", role="control-plane", outcome="Completed"} 0x56 1x4
faultline_failure_domain_moves_total{cluster="prod", role="control-plane", outcome="Aborted"} 0x60
faultline_failure_domain_state{cluster="calm", domain="zone-a", state="Active"} 1x60
faultline_failure_domain_state{cluster="calm", domain="zone-a", state="Cordoned"} 0x60
faultline_failure_domain_state{cluster="calm", domain="zone-a", state="Evicting"} 0x60
faultline_failure_domain_state{cluster="calm", domain="zone-b", state="Active"} 1x60
faultline_failure_domain_machines{cluster="calm", domain="zone-a", role="control-plane"} 2x60
faultline_failure_domain_machines{cluster="calm", domain="zone-b", role="control-plane"} 1x60
faultline_failure_domain_skew{cluster="calm"} 1x60
faultline_failure_domain_worker_skew{cluster="calm", machine_deployment="md"} 1x60
faultline_failure_domain_misplaced_machines{cluster="calm"} 0x60
faultline_failure_domain_machines{cluster="single", domain="zone-a", role="control-plane"} 1x60
harvester_load_balancers{workload="vm", ready="True"} 3x60
harvester_load_balancers{workload="cluster", ready="False", reason="PoolExhausted"} 2x60
harvester_load_balancers{workload="cluster", ready="Unknown", reason="WaitingForAddress"} 1x60
harvester_load_balancers{workload="vm", ready="False", reason="NoServers"} 0x60
`

// operated holds what two managers per provider and controller-runtime export in the same hour. No manager leads for vsphere, and the managers of
// metal3 are gone for 20 minutes; those of harvester are replaced. The queue of a controller grows, that of another is long but shrinks, and
// that of a program that is not Faultline's grows, too. vc-a rejects the account, vc-b works, vc-c is not used any more. harvester-a answers
// no request, harvester-b some. Three of four reconciles of harvestermachine fail.
const operated = `
leader_election_master_status{job="capv", instance="a", name="capv-controller-manager-runtime"} 0x60
leader_election_master_status{job="capv", instance="b", name="capv-controller-manager-runtime"} 1x40 0x19
leader_election_master_status{job="capm3", instance="a", name="controller-leader-election-capm3"} 1x40
leader_election_master_status{job="caphv", instance="a", name="1e1658d6.cluster.x-k8s.io"} 1x30
leader_election_master_status{job="caphv", instance="b", name="1e1658d6.cluster.x-k8s.io"} 0x30 1x29
leader_election_master_status{job="capi", instance="a", name="controller-leader-election-capi"} 0x60
faultline_build_info{job="capv", instance="a", version="v2.0.0"} 1x60
faultline_build_info{job="capv", instance="b", version="v2.0.0"} 1x60
faultline_build_info{job="caphv", instance="b", version="v2.0.0"} 1x60
workqueue_depth{job="capv", instance="a", name="vspherevm", controller="vspherevm"} 0x60
workqueue_depth{job="capv", instance="b", name="vspherevm", controller="vspherevm"} 0x30 1+3x29
workqueue_depth{job="capv", instance="b", name="vspherecluster", controller="vspherecluster"} 100-1x60
workqueue_depth{job="capi", instance="a", name="machine", controller="machine"} 1+3x60
capv_vcenter_calls_total{server="vc-a", method="Login", result="error"} 0+1x60
capv_vcenter_calls_total{server="vc-a", method="RetrieveServiceContent", result="success"} 0+1x60
capv_vcenter_calls_total{server="vc-a", method="WaitForUpdatesEx", result="success"} 0+1x20 20x39
capv_vcenter_calls_total{server="vc-b", method="WaitForUpdatesEx", result="success"} 0+1x60
capv_vcenter_calls_total{server="vc-b", method="WaitForUpdatesEx", result="error"} 0+1x60
capv_vcenter_calls_total{server="vc-c", method="Login", result="error"} 5x60
controller_runtime_reconcile_total{job="capv", instance="b", controller="vspherevm", result="success"} 0+1x60
controller_runtime_reconcile_total{job="capv", instance="b", controller="vspherevm", result="error"} 5x60
controller_runtime_reconcile_total{job="caphv", instance="b", controller="harvestermachine", result="success"} 0+1x60
controller_runtime_reconcile_total{job="caphv", instance="b", controller="harvestermachine", result="error"} 0+3x60
controller_runtime_reconcile_total{job="capi", instance="a", controller="machine", result="error"} 0+1x60
rest_client_requests_total{job="caphv", instance="b", host="harvester-a", code="<error>"} 0+2x60
rest_client_requests_total{job="caphv", instance="b", host="harvester-a", code="200"} 90x60
rest_client_requests_total{job="caphv", instance="b", host="harvester-b", code="<error>"} 0+2x60
rest_client_requests_total{job="caphv", instance="b", host="harvester-b", code="200"} 0+1x60
rest_client_requests_total{job="capi", instance="a", host="workload", code="<error>"} 0+2x60
faultline_webhook_certificate_expiration_timestamp_seconds{job="capv", instance="a"} 7776000x60
faultline_webhook_certificate_expiration_timestamp_seconds{job="capv", instance="b"} 262800x60
faultline_webhook_certificate_expiration_timestamp_seconds{job="capm3", instance="a"} 7776000x60
`

// found holds the series that a selector matches.
type found struct {
	series []storage.Series
	next   int
}

func (f *found) Next() bool                      { f.next++; return f.next <= len(f.series) }
func (f *found) At() storage.Series              { return f.series[f.next-1] }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }

// stored returns a storage with series, which have one sample per minute.
func stored(t *testing.T) storage.Queryable {
	t.Helper()
	var all []promql.Series
	for line := range strings.Lines(strings.TrimSpace(series) + operated) {
		described, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), line)
		one := promql.Series{Metric: described}
		for i, value := range values {
			one.Floats = append(one.Floats, promql.FPoint{T: (time.Duration(i) * time.Minute).Milliseconds(), F: value.Value})
		}
		all = append(all, one)
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			set := &found{}
			for _, one := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }) {
					set.series = append(set.series, promql.NewStorageSeries(one))
				}
			}
			return set
		},
	}}
}

// evaluate evaluates an expression with Prometheus at the end of series. The values are keyed by what name returns for their labels.
func evaluate(t *testing.T, expression string, name func(map[string]string) string) map[string]float64 {
	t.Helper()
	g := NewWithT(t)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	query, err := engine.NewInstantQuery(t.Context(), stored(t), nil, expression, time.Unix(0, 0).Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred(), expression)
	defer query.Close()
	answer, err := query.Exec(t.Context()).Vector()
	g.Expect(err).NotTo(HaveOccurred(), expression)
	values := map[string]float64{}
	for _, sample := range answer {
		values[name(sample.Metric.Map())] = math.Round(sample.F)
	}
	g.Expect(values).To(HaveLen(len(answer)), "%s: two lines have the same name", expression)
	return values
}

// runbooks is the address of the runbooks of alerts.
const runbooks = "https://github.com/faultline-io/faultline/blob/main/docs/monitoring/README.md#"

// exportedByManagers returns the names of the metrics that every manager exports, and of those about vCenters.
func exportedByManagers(t *testing.T) map[string]bool {
	t.Helper()
	g := NewWithT(t)
	g.Expect(version.Register(metrics.Registry)).To(Succeed())
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "x", nil, nil, resourcelock.ResourceLockConfig{Identity: "x"})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: "x", LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[int]{Name: "x"}).ShutDown()
	clientmetrics.RequestResult.Increment(t.Context(), "200", "GET", "x")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	c, err := controller.NewUnmanaged("x", controller.Options{Reconciler: reconcile.Func(nil), SkipNameValidation: ptr.To(true)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Start(stopped)).To(Succeed())
	families, err := metrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	names := map[string]bool{}
	for _, family := range families {
		names[family.GetName()] = true
	}
	text := wordsIn(t, []token.Token{token.STRING}, "shared/manager", "providers/vsphere/internal/setup")
	for _, name := range []string{"faultline_webhook_certificate_expiration_timestamp_seconds", "capv_vcenter_calls_total"} {
		g.Expect(text).To(HaveKey(name))
		names[name] = true
	}
	return names
}

// A provider whose lease the alert does not name would stop unnoticed.
func TestAlertNamesEveryLease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules, err := os.ReadFile(filepath.Join("..", "docs", "monitoring", "rules.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var leases []string
	for file, text := range goFiles(t, "providers") {
		for _, found := range regexp.MustCompile(`LeaderElectionID: "([^"]+)"`).FindAllSubmatch(text, -1) {
			if !strings.HasSuffix(file, "_test.go") {
				leases = append(leases, string(found[1]))
			}
		}
	}
	g.Expect(len(leases)).To(BeNumerically(">=", 4))
	named := regexp.MustCompile(`name=~"([^"]+)"`).FindSubmatch(rules)
	g.Expect(named).NotTo(BeNil())
	g.Expect(strings.Split(string(named[1]), "|")).To(ConsistOf(leases))
}

func TestAlertsFireAsExpected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	groups, errs := rulefmt.ParseFile(filepath.Join("..", "docs", "monitoring", "rules.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	g.Expect(errs).To(BeEmpty())
	readme, err := os.ReadFile(filepath.Join("..", "docs", "monitoring", "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	known := exported(t)
	maps.Copy(known, exportedByManagers(t))
	fires := map[string]map[string]float64{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			g.Expect(uses(t, rule.Expr, known)).NotTo(BeEmpty())
			g.Expect(rule.Annotations).To(HaveKeyWithValue("runbook_url", runbooks+strings.ToLower(rule.Alert)))
			g.Expect(anchors(string(readme))).To(ContainElement(strings.ToLower(rule.Alert)), "docs/monitoring/README.md has no such heading")
			fires[rule.Alert] = evaluate(t, rule.Expr, func(labels map[string]string) string {
				var values []string
				for _, label := range slices.Sorted(maps.Keys(labels)) {
					values = append(values, labels[label])
				}
				return strings.Join(values, " ")
			})
		}
	}
	g.Expect(fires).To(Equal(map[string]map[string]float64{
		"FailureDomainNotActive":         {"prod zone-a Cordoned": 1},
		"ControlPlaneUnevenlySpread":     {"prod": 3},
		"WorkersUnevenlySpread":          {"prod md-a": 2},
		"ControlPlaneInOneFailureDomain": {"prod": 3},
		"MachinesInOtherFailureDomain":   {"prod": 2},
		"MachinesWaitForFailureDomain":   {"prod FailureDomainNotReady": 1},
		"LoadBalancersNotReady":          {"PoolExhausted cluster": 2, "WaitingForAddress cluster": 1},

		"FaultlineNoLeader":                  {"capv-controller-manager-runtime": 1, "controller-leader-election-capm3": 1},
		"FaultlineWorkQueueGrows":            {"vspherevm": 88},
		"FaultlineNoVCenterSession":          {"vc-a": 30},
		"FaultlineReconcilesFail":            {"harvestermachine": 1}, // 0.75, rounded
		"FaultlineServerDoesNotRespond":      {"harvester-a": 30},
		"FaultlineWebhookCertificateExpires": {"capv": 259200},
	}))
}

// dashboard holds the tested fields of a Grafana dashboard.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

// legend fills in the labels in the braces of a legend.
func legend(format string) func(map[string]string) string {
	return func(labels map[string]string) string {
		return regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`).ReplaceAllStringFunc(format, func(found string) string {
			return labels[strings.Trim(found, "{} ")]
		})
	}
}

func TestPanelsShowAllMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var read dashboard
	g.Expect(json.Unmarshal([]byte(content(t, "docs/monitoring/dashboard.json")), &read)).To(Succeed())
	known, used, shown := exported(t), map[string]bool{}, map[string]map[string]float64{}
	for _, panel := range read.Panels {
		shown[panel.Title] = map[string]float64{}
		for _, target := range panel.Targets {
			expression := strings.NewReplacer("$namespace", ".*", "$cluster", "prod|single").Replace(target.Expr)
			for _, name := range uses(t, expression, known) {
				used[name] = true
			}
			maps.Copy(shown[panel.Title], evaluate(t, expression, legend(target.LegendFormat)))
		}
	}
	g.Expect(used).To(Equal(known))
	g.Expect(shown).To(Equal(map[string]map[string]float64{
		"Failure domains that are not Active":      {"not Active": 1},
		"Largest skew of a control plane":          {"skew": 3},
		"Machines that wait for a place":           {"waiting": 1},
		"Machines that are elsewhere":              {"elsewhere": 2},
		"Moves in the last hour":                   {"moves": 1},
		"State of each failure domain":             {"prod zone-a": 1, "prod zone-b": 0, "prod zone-c": 0},
		"Control-plane machines by failure domain": {"prod zone-b": 3, "prod zone-c": 0, "single zone-a": 1},
		"Workers by failure domain":                {"prod zone-b": 2},
		"Machines that wait, by reason":            {"prod FailureDomainNotReady": 1},
		"Moves by role":                            {"prod control-plane": 1},
		"Load balancers on Harvester":              {"vm ready": 3, "vm NoServers": 0, "cluster PoolExhausted": 2, "cluster WaitingForAddress": 1},
		"Skew of workers, by MachineDeployment":    {"prod md-a": 2, "prod md-b": 1},
	}))
}

func TestMetricsAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page := content(t, "docs/install.md")
	for name := range exported(t) {
		g.Expect(page).To(ContainSubstring("`" + name + "{"))
	}
}
