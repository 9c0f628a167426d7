// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// listing is a reader with some load balancers.
type listing struct {
	client.Reader
	all []lbv1.LoadBalancer
}

func (l listing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*lbv1.LoadBalancerList).Items = l.all
	return nil
}

func TestMetrics(t *testing.T) {
	g := NewWithT(t)
	with := func(workload lbv1.WorkloadType, conditions ...lbv1.Condition) lbv1.LoadBalancer {
		return lbv1.LoadBalancer{Spec: lbv1.LoadBalancerSpec{WorkloadType: workload}, Status: lbv1.LoadBalancerStatus{Conditions: conditions}}
	}
	ready := func(reason string) (is []lbv1.Condition) {
		lbv1.SetReady(&is, reason, "", time.Now())
		return is
	}
	leads := make(chan struct{})
	c := &collector{leads: leads, desc: prometheus.NewDesc("harvester_load_balancers", "Help.", []string{"workload", "ready", "reason"}, nil), reader: listing{all: []lbv1.LoadBalancer{
		with("", ready("")...), with(lbv1.WorkloadVM, ready("")...), with(lbv1.WorkloadCluster, ready(reasonExhausted)...), with(lbv1.WorkloadCluster),
	}}}
	g.Expect(testutil.CollectAndCount(c)).To(BeZero())
	close(leads)
	g.Expect(testutil.CollectAndCompare(c, strings.NewReader(`# HELP harvester_load_balancers Help.
# TYPE harvester_load_balancers gauge
harvester_load_balancers{ready="False",reason="PoolExhausted",workload="cluster"} 1
harvester_load_balancers{ready="True",reason="",workload="vm"} 2
harvester_load_balancers{ready="Unknown",reason="",workload="cluster"} 1
`))).To(Succeed())
}
