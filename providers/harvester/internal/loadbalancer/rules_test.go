// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	valid := func() lbv1.LoadBalancerSpec {
		return lbv1.LoadBalancerSpec{
			Listeners: []lbv1.Listener{
				{Name: "web", Port: 80, Protocol: "TCP", BackendPort: 8080}, {Name: "dns", Port: 53, Protocol: "UDP", BackendPort: 53},
				{Name: "dns-tcp", Port: 53, Protocol: "TCP", BackendPort: 53},
			},
			HealthCheck: &lbv1.HealthCheck{Port: 53, SuccessThreshold: 1, FailureThreshold: 1, PeriodSeconds: 1, TimeoutSeconds: 1},
		}
	}
	validate := func(spec lbv1.LoadBalancerSpec, _ *field.Path) field.ErrorList { return loadbalancer.Validate(spec) }
	cases := []rulestest.Case[lbv1.LoadBalancerSpec]{
		{Name: "no listener", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners, s.HealthCheck = nil, nil }, Want: []string{"spec.listeners: Required value"}},
		{Name: "one without a name", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners, s.Listeners[2].Name = s.Listeners[2:], "" }},
		{Name: "several, and one without a name", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].Name = "" }, Want: []string{"spec.listeners[0].name: Required value"}},
		{Name: "two of a name", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[1].Name = "web" }, Want: []string{"spec.listeners[1].name: Duplicate value"}},
		{Name: "a name that no Service takes", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[1].Name = "Web" }, Want: []string{"spec.listeners[1].name: Invalid value"}},
		{Name: "port 0", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].Port = 0 }, Want: []string{"spec.listeners[0].port: Invalid value"}},
		{Name: "a port too large", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].BackendPort = 65536 }, Want: []string{"spec.listeners[0].backendPort: Invalid value"}},
		{Name: "two of a port", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[2].Port = 80 }, Want: []string{"spec.listeners[2].port: Duplicate value"}},
		{Name: "two of a backend port", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].BackendPort = 53 }, Want: []string{"spec.listeners[2].backendPort: Duplicate value"}},
		{Name: "an invalid protocol", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners[0].Protocol = "tcp" }, Want: []string{"spec.listeners[0].protocol: Unsupported value"}},
		{Name: "a health check of another port", Change: func(s *lbv1.LoadBalancerSpec) { s.HealthCheck.Port = 80 }, Want: []string{"spec.healthCheck.port: Invalid value"}},
		{Name: "a health check of a port of UDP", Change: func(s *lbv1.LoadBalancerSpec) { s.Listeners = s.Listeners[:2] }, Want: []string{"spec.healthCheck.port: Invalid value"}},
		{Name: "a health check without numbers", Change: func(s *lbv1.LoadBalancerSpec) { *s.HealthCheck = lbv1.HealthCheck{Port: 53} }, Want: []string{
			"spec.healthCheck.successThreshold: Invalid value", "spec.healthCheck.failureThreshold: Invalid value",
			"spec.healthCheck.periodSeconds: Invalid value", "spec.healthCheck.timeoutSeconds: Invalid value",
		}},
		{Name: "a health check that is off", Change: func(s *lbv1.LoadBalancerSpec) { *s.HealthCheck = lbv1.HealthCheck{} }},
		{Name: "a pool with a namespace", Change: func(s *lbv1.LoadBalancerSpec) { s.IPPool = "default/pool-1" }, Want: []string{"spec.ipPool: Invalid value"}},
		{Name: "a guest cluster's pool with a namespace", Change: func(s *lbv1.LoadBalancerSpec) {
			*s = lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPPool: "default/pool-1"}
		}, Want: []string{"spec.ipPool: Invalid value"}},
		{Name: "a pool that is not used", Change: func(s *lbv1.LoadBalancerSpec) { s.IPAM, s.IPPool = lbv1.IPAMDHCP, "default/pool-1" }},
		{Name: "the longest name of a pool", Change: func(s *lbv1.LoadBalancerSpec) { s.IPPool = strings.Repeat("a", 253) }},
		{Name: "a guest cluster's, which are its own business", Change: func(s *lbv1.LoadBalancerSpec) { s.WorkloadType, s.Listeners = lbv1.WorkloadCluster, nil }},
	}
	rulestest.Run(t, valid, validate, cases)
}

func TestValidateChange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	change := func(before, after lbv1.LoadBalancerSpec) []string {
		return rulestest.Summary(loadbalancer.ValidateChange(before, after))
	}
	of := func(ipam lbv1.IPAM, workload lbv1.WorkloadType) lbv1.LoadBalancerSpec {
		return lbv1.LoadBalancerSpec{IPAM: ipam, WorkloadType: workload}
	}
	g.Expect(change(of("", ""), of("pool", "vm"))).To(BeEmpty(), "what is not said is the default")
	g.Expect(change(of("dhcp", "cluster"), of("dhcp", "cluster"))).To(BeEmpty())
	g.Expect(change(of("", ""), of("dhcp", "cluster"))).To(ConsistOf("spec.ipam: Forbidden", "spec.workloadType: Forbidden"))
	g.Expect(change(of("dhcp", "cluster"), of("", ""))).To(ConsistOf("spec.ipam: Forbidden", "spec.workloadType: Forbidden"))
}
