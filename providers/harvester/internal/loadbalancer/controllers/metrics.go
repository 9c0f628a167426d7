// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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

// scrapeLimit is how long a scrape waits for the cache of load balancers.
const scrapeLimit = 5 * time.Second

// collector counts load balancers by state at each scrape:
//
//	harvester_load_balancers{workload,ready,reason}  workload is vm or cluster; ready is True, False or Unknown, and reason why it is not True
//
// Only the leader exports it.
type collector struct {
	reader client.Reader
	leads  <-chan struct{}
	desc   *prometheus.Desc
}

// CountBalancers registers a collector that counts the cached load balancers.
func CountBalancers(mgr ctrl.Manager, registry prometheus.Registerer) error {
	c := &collector{reader: mgr.GetClient(), leads: mgr.Elected(), desc: prometheus.NewDesc(lbv1.BalancersMetric,
		"Number of load balancers by workload type, and by status and reason of their condition Ready.", []string{"workload", "ready", "reason"}, nil)}
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("registering metrics of load balancers: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	select {
	case <-c.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	list := &lbv1.LoadBalancerList{}
	if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // read-only
		to <- prometheus.NewInvalidMetric(c.desc, fmt.Errorf("listing load balancers: %w", err))
		return
	}
	for is, count := range countByReadiness(list.Items) {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(count), is.workload, is.ready, is.reason)
	}
}

// readiness holds the labels of the metric.
type readiness struct{ workload, ready, reason string }

func countByReadiness(all []lbv1.LoadBalancer) map[readiness]int {
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
