// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/publish"
)

// newPublisher returns a Publisher as a provider's setup creates it, with a fake client, recorder and clock.
func newPublisher() *publish.Publisher {
	scheme := runtime.NewScheme()
	_, _ = clusterv1.AddToScheme(scheme), providertest.AddToScheme(scheme)
	metrics, _ := distribution.NewMetrics(prometheus.NewRegistry())
	return &publish.Publisher{
		Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Recorder: events.NewFakeRecorder(10),
		Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), Metrics: metrics,
	}
}

// One reconcile of an infrastructure cluster: one of its failure domains has never been healthy, and is not published for control
// planes.
func ExamplePublish() {
	infraCluster := &providertest.Cluster{}
	domains := newPublisher().Of(infraCluster, "my-cluster")

	seen := []distribution.DomainObservation{
		{Name: "rack-1", ControlPlane: true, Health: distribution.Healthy},
		{Name: "rack-2", ControlPlane: true, Health: distribution.Unhealthy, Message: "the rack has no power"},
	}
	waits := func(*providertest.Machine) string { return "" } // no machine waits
	result, err := publish.Publish(context.Background(), domains, seen, &providertest.Machine{}, waits)
	if err != nil {
		fmt.Println(err)
		return
	}
	domains.SetReady(result.Condition(), !result.NoControlPlaneDomain)

	for _, domain := range infraCluster.Status.FailureDomains {
		fmt.Println(domain.Name, *domain.ControlPlane, domain.Attributes["state"])
	}
	fmt.Println(domains.Ready(), domains.Summarize())
	domains.RecordEvents() // once the status is stored
	// Output:
	// rack-1 true Active
	// rack-2 false Cordoned
	// true <nil>
}
