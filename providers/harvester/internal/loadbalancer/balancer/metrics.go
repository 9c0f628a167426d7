// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// scrapeLimit is how long a scrape waits for load balancers to be known.
const scrapeLimit = 5 * time.Second

// census counts load balancers by how they are whenever it is asked:
//
//	harvester_load_balancers{workload,ready,reason}  workload is vm or cluster; ready is True, False or Unknown, and reason why it is not True
//
// Only the manager that leads says so.
type census struct {
	known client.Reader
	leads <-chan struct{}
	desc  *prometheus.Desc
}

// CountBalancers has the load balancers counted that the manager knows.
func CountBalancers(mgr ctrl.Manager, registry prometheus.Registerer) error {
	c := &census{known: mgr.GetClient(), leads: mgr.Elected(), desc: prometheus.NewDesc(lbv1.BalancersMetric,
		"Load balancers by what is balanced, and by what their condition Ready says.", []string{"workload", "ready", "reason"}, nil)}
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("registering metrics of load balancers: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *census) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *census) Collect(to chan<- prometheus.Metric) {
	select {
	case <-c.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	list := &lbv1.LoadBalancerList{}
	if err := c.known.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only looked at
		to <- prometheus.NewInvalidMetric(c.desc, fmt.Errorf("listing load balancers: %w", err))
		return
	}
	for is, count := range counted(list.Items) {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(count), is.workload, is.ready, is.reason)
	}
}

// readiness is what load balancers are counted by.
type readiness struct{ workload, ready, reason string }

func counted(all []lbv1.LoadBalancer) map[readiness]int {
	counts := map[readiness]int{}
	for i := range all {
		is := readiness{workload: string(cmp.Or(all[i].Spec.WorkloadType, lbv1.WorkloadVM)), ready: string(corev1.ConditionUnknown)}
		for _, c := range all[i].Status.Conditions {
			if c.Type == lbv1.ReadyCondition {
				is.ready, is.reason = string(c.Status), c.Reason
			}
		}
		if is.ready == string(corev1.ConditionTrue) {
			is.reason = ""
		}
		counts[is]++
	}
	return counts
}
