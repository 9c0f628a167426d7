// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// meter counts requests by verb and resource: "PATCH baremetalhosts". Call reset to exclude watches and the initial requests of
// discovery and informers.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
}

func (m *meter) config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			m.record(req)
			return next.RoundTrip(req)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (m *meter) record(req *http.Request) {
	_, resource, found := strings.Cut(req.URL.Path, "/namespaces/")
	if !found || req.URL.Query().Get("watch") != "" {
		return
	}
	parts := strings.Split(resource, "/")
	if len(parts) < 2 {
		return
	}
	method := req.Method
	if method == http.MethodGet && len(parts) == 2 {
		method = "LIST"
	}
	name := method + " " + parts[1]
	if len(parts) > 3 {
		name += "/" + parts[3]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[name]++
}

// reset returns the counts and clears them.
func (m *meter) reset() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counted := m.calls
	m.calls = map[string]int{}
	return counted
}

func TestRequestsPerMachine(t *testing.T) {
	t.Parallel()
	const n = 20
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(5, n/5))
	m := &meter{calls: map[string]int{}}
	f.config = m.config(apiServer)
	f.start()
	infra := f.cluster("one", "rack-1", "rack-2", "rack-3", "rack-4", "rack-5")
	f.waitForCondition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, "AllActive")
	m.reset()
	var machines []*infrav1.Metal3Machine
	for i := range n {
		machines = append(machines, f.machine("one", fmt.Sprintf("m-%02d", i), fmt.Sprintf("rack-%d", i%5+1)))
	}
	for _, machine := range machines {
		f.waitForProvisioned(machine)
	}
	cost := m.reset()
	t.Logf("%d machines: %v", n, cost)
	// Six requests: the intention, the claim with the complete configuration of the host, an event, and three for the machine's
	// status and provider ID. One more reports that the host runs, if the Node is not observed at the same time.
	total := 0
	for request, count := range cost {
		f.Expect(request).NotTo(HavePrefix("LIST "))
		if !strings.Contains(request, "metal3clusters") && request != "PATCH events" { // their number grows with the cluster
			total += count
		}
	}
	f.Expect(total).To(BeNumerically("<=", 7*n), "%v", cost)
	f.Expect(cost["PATCH metal3machines"]).To(Equal(2 * n))
	f.Expect(cost["PATCH baremetalhosts"]).To(Equal(n))

	// When everything is done, nothing is read or written any more, whatever happens to the objects. The published counts of the
	// cluster are excluded because they are delayed on purpose, and repeated events because the recorder writes them as a series
	// at its own pace.
	quiet := func(calls map[string]int) map[string]int {
		delete(calls, "PATCH events")
		return calls
	}
	f.Eventually(func() map[string]int { return quiet(m.reset()) }).WithPolling(3 * time.Second).MustPassRepeatedly(2).Should(BeEmpty())
	for _, machine := range machines[:5] {
		update(f, machine, func(machine *infrav1.Metal3Machine) {
			metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
		})
	}
	f.Consistently(func() map[string]int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return quiet(maps.Clone(m.calls))
	}, "3s", "100ms").Should(BeEmpty())
}
