// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// racks is a provider whose failure domains are racks. The embedded provider implements the other methods.
type racks struct {
	providertest.Provider
	powered func(ctx context.Context, rack string) (bool, error)
}

// Domains returns every rack, also one whose power could not be read.
func (r racks) Domains(ctx context.Context, _ provider.Cluster) ([]distribution.DomainObservation, error) {
	var seen []distribution.DomainObservation
	for _, rack := range []string{"rack-1", "rack-2", "rack-3"} {
		domain := distribution.DomainObservation{Name: rack, ControlPlane: true, Health: distribution.Healthy}
		switch on, err := r.powered(ctx, rack); {
		case err != nil:
			domain.Health, domain.Reason, domain.Message = distribution.Unknown, faultlinev1.ReasonLookupFailed, err.Error()
		case !on:
			domain.Health, domain.Reason, domain.Message = distribution.Unhealthy, "RackWithoutPower", "the rack has no power"
		}
		seen = append(seen, domain)
	}
	return seen, nil
}

// A rack that could not be checked is Unknown, not omitted: a missing failure domain counts as removed.
func ExampleProvider() {
	var of provider.Provider = racks{powered: func(_ context.Context, rack string) (bool, error) {
		if rack == "rack-3" {
			return false, errors.New("PDU of rack-3: connection refused")
		}
		return rack == "rack-1", nil
	}}
	seen, err := of.Domains(context.Background(), of.NewCluster())
	for _, domain := range seen {
		fmt.Printf("%s: %q\n", domain.Name, domain.Reason)
	}
	fmt.Println(err)
	// Output:
	// rack-1: ""
	// rack-2: "RackWithoutPower"
	// rack-3: "LookupFailed"
	// <nil>
}

// A provider calls RequestedDomain and distribution.Receives before it creates anything for a machine.
func ExampleRequestedDomain() {
	cluster := &providertest.Cluster{}
	wanted, known := cluster.Distribution()
	known.ControlPlaneNeedsDomain = ptr.To(true)
	known.FailureDomains = []faultlinev1.DomainStatus{
		{Name: "rack-1", State: faultlinev1.DomainActive},
		{Name: "rack-2", State: faultlinev1.DomainCordoned},
	}
	for _, requested := range []string{"", "rack-1", "rack-2"} {
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}}}
		machine.Spec.FailureDomain = requested
		infra := &providertest.Machine{}

		domain, wait := provider.RequestedDomain(cluster, machine, infra, infra.Status)
		if wait.Reason == "" {
			_, wait = distribution.Receives(*wanted, *known, domain, distribution.PendingRefuses)
		}
		if wait.Reason != "" {
			fmt.Printf("%q: wait, %s\n", requested, wait.Reason)
			continue
		}
		fmt.Printf("%q: create the machine in %s\n", requested, domain)
	}
	// Output:
	// "": wait, FailureDomainNotNamed
	// "rack-1": create the machine in rack-1
	// "rack-2": wait, FailureDomainNotReady
}
