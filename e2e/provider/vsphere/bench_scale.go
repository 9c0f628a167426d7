// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"context"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// foreignFolder holds what is nobody's in the bench.
	foreignFolder = "foreign"
	// foreignTasks is how many tasks a second others start in a vCenter.
	foreignTasks = 20
)

// Scale says how large the vCenter of the scale scenario is, and how long it is
// watched.
type Scale struct {
	// Machines are the manager's, Foreign the virtual machines of others.
	Machines, Foreign int
	// Watch is how long the manager is watched at rest, and again while others work.
	Watch time.Duration
	// Outage is how long the vCenter does not answer.
	Outage time.Duration
}

// ParseScale reads "1", which stands for what the aims are about, or what differs
// from that: "machines=300,foreign=2000,watch=20s,outage=30s".
func ParseScale(text string) (*Scale, error) {
	s := &Scale{Machines: 2000, Foreign: 10000, Watch: time.Minute, Outage: 5 * time.Minute}
	if err := benchmark.ReadScale(text, benchmark.Number("machines", &s.Machines), benchmark.Number("foreign", &s.Foreign),
		benchmark.Duration("watch", &s.Watch), benchmark.Duration("outage", &s.Outage)); err != nil {
		return nil, err
	}
	if !s.positive() {
		return nil, fmt.Errorf("reading %q: every number is to be above zero", text)
	}
	return s, nil
}

func (s *Scale) positive() bool { return min(s.Machines, s.Foreign) > 0 && min(s.Watch, s.Outage) > 0 }

// limit is how long the scenario may take: on a busy computer ten virtual machines of others are made a second,
// and three machines; and what is watched.
func (s Scale) limit() time.Duration {
	return benchmark.ScenarioLimit + time.Duration(s.Foreign)*time.Second/10 + time.Duration(s.Machines)*time.Second/3 + 2*s.Watch + 2*s.Outage
}

// ScaleResults are what a large vCenter costs.
type ScaleResults struct {
	Machines int     `json:"machines"`
	Foreign  int     `json:"foreign"`
	CPUs     int     `json:"cpus"`
	Load     float64 `json:"load"`
	// Ready is after how many seconds the last machine was ready.
	Ready  float64 `json:"readySeconds"`
	Phases []Phase `json:"phases"`
}

// Phase is what the manager did in some time.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	benchmark.Cost
	// RSS and Peak are the manager's memory in bytes at the end, and at its highest.
	RSS  int64 `json:"rssBytes"`
	Peak int64 `json:"peakBytes"`
}

// measureScale runs the one scenario.
func measureScale(ctx context.Context, b *benchmark.Runner, text string) (benchmark.Outcome, error) {
	size, err := ParseScale(text)
	if err != nil {
		return nil, err
	}
	r := &ScaleResults{Machines: size.Machines, Foreign: size.Foreign, CPUs: goruntime.NumCPU(), Load: benchmark.Load()}
	b.Limit = size.limit()
	return r, b.Scenario(ctx, "scale", nil, func(ctx context.Context, l *benchmark.Environment) error { return scenario{l}.scale(ctx, *size, r) })
}

func (l scenario) scale(ctx context.Context, size Scale, r *ScaleResults) error {
	l.Progressf("making %d virtual machines of others", size.Foreign)
	vcenter, err := l.vcenter(crowded(size.Foreign)) //nolint:contextcheck // A vCenter runs until it is closed.
	if err != nil {
		return err
	}
	others, err := vcenter.PowerOnFolder("/" + datacenterName + "/vm/" + foreignFolder) //nolint:contextcheck // The simulator works without.
	if err != nil {
		return err
	}
	w, err := l.setUpOn(ctx, "bench", vcenter)
	if err != nil {
		return err
	}
	phase := func(name string, happens func() error) error { return l.phase(ctx, w, r, name, happens) }
	if err := phase("log in, read the inventory, check the zones", func() error { return w.zonesReady(ctx) }); err != nil {
		return err
	}
	machines, err := w.prepare(ctx, size.Machines)
	if err != nil {
		return err
	}
	if err := phase(fmt.Sprintf("make %d machines", size.Machines), func() error {
		ready, err := w.provision(ctx, machines)
		r.Ready = ready.Seconds()
		return cmp.Or(err, l.Rest(ctx, w))
	}); err != nil {
		return err
	}
	if err := phase("rest", func() error { return provider.Pause(ctx, size.Watch) }); err != nil {
		return err
	}
	if err := phase(fmt.Sprintf("%d tasks of others a second", foreignTasks), func() error { return w.othersWork(ctx, others, size.Watch) }); err != nil {
		return err
	}
	if err := phase("vCenter does not answer", func() error {
		w.vcenter.SetDown(true)
		return provider.Pause(ctx, size.Outage)
	}); err != nil {
		return err
	}
	return phase("vCenter answers again", func() error {
		w.vcenter.SetDown(false)
		return cmp.Or(w.connected(ctx), l.Rest(ctx, w))
	})
}

// connected waits until the manager has a session again.
func (w *setup) connected(ctx context.Context) error {
	cluster := &infrav1.VSphereCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name}}
	err := wait.PollUntilContextCancel(ctx, provider.LookEvery, true, func(ctx context.Context) (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		return conditions.IsTrue(cluster, infrav1.VSphereClusterVCenterAvailableCondition), err
	})
	if err != nil {
		return fmt.Errorf("waiting for VSphereCluster %s to have a session again: %w%s", cluster.Name, provider.Because(ctx, err), provider.Explain(cluster.Status.Conditions))
	}
	return nil
}

// crowded is a layout with virtual machines of others.
func crowded(n int) simulator.Layout {
	layout := simulator.ThreeZones()
	dc := &layout.Datacenters[0]
	dc.Folders = append(dc.Folders, foreignFolder)
	for i := range n {
		dc.Templates = append(dc.Templates, simulator.Template{
			Name: fmt.Sprintf("foreign-%05d", i), Folder: foreignFolder, VirtualMachine: true,
		})
	}
	return layout
}

// othersWork starts tasks evenly spread over the time and the virtual machines.
func (w *setup) othersWork(ctx context.Context, others []string, d time.Duration) error {
	tick := time.NewTicker(time.Second / foreignTasks)
	defer tick.Stop()
	over := time.NewTimer(d)
	defer over.Stop()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(foreignTasks)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return cmp.Or(group.Wait(), context.Cause(ctx))
		case <-over.C:
			return group.Wait()
		case <-tick.C:
			group.Go(func() error { //nolint:contextcheck // The simulator works without.
				return w.vcenter.NoteOnVM(others[i%len(others)], strconv.Itoa(i))
			})
		}
	}
}

// phase measures what happens and adds it to the results.
func (l scenario) phase(ctx context.Context, w *setup, r *ScaleResults, name string, happens func() error) error {
	l.Progressf("%s", name)
	began := time.Now()
	cost, err := l.During(ctx, w, happens)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p := Phase{Name: name, Seconds: time.Since(began).Seconds(), Cost: cost}
	if p.RSS, p.Peak, err = l.Memory(); err != nil {
		return err
	}
	r.Phases = append(r.Phases, p)
	return nil
}

// Report words the results: a line for each phase.
func (r *ScaleResults) Report() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Provider vsphere on %d CPUs, shared with etcd, kube-apiserver and the simulated vCenter; load before: %.1f\n", r.CPUs, r.Load)
	fmt.Fprintf(&text, "%d machines, the last of them ready after %.0f s, beside %d virtual machines of others\n\n", r.Machines, r.Ready, r.Foreign)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "seconds\tCPU-seconds\tof a core\tMiB\thighest\treconciles\tof VSphereVMs\twrites\tcalls\t  while the manager had to")
	for _, p := range r.Phases {
		everything := func(string) bool { return true }
		_, _ = fmt.Fprintf(table, "%.0f\t%.1f\t%.1f %%\t%d\t%d\t%d\t%d\t%d\t%d\t  %s\n", p.Seconds, p.CPU, 100*p.CPU/p.Seconds, p.RSS/benchmark.Mebibyte, p.Peak/benchmark.Mebibyte,
			p.Reconciles.Sum(everything), p.Reconciles[vmController], p.Requests.Sum(isWrite), p.Calls.Sum(everything), p.Name)
	}
	_ = table.Flush()
	return text.String()
}

// isWrite leaves out what only reads, and the lease by which a manager stays leader.
func isWrite(request string) bool {
	verb, resource, _ := strings.Cut(request, " ")
	return (verb == "create" || verb == "update" || verb == "patch" || verb == "delete") && !strings.HasPrefix(resource, "leases")
}
