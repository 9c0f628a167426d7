// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package alone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/plane"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// lookEvery is how often it is looked whether something has come.
const lookEvery = 100 * time.Millisecond

// Metal3 is the provider for bare metal, with the CRDs of the bare-metal operator and
// of the address manager.
func Metal3() Provider {
	return Provider{
		Name: "metal3",
		Kinds: func(scheme *runtime.Scheme) error {
			return errors.Join(simulator.AddToScheme(scheme), infrav1.AddToScheme(scheme))
		},
		Objects: func() ([]*unstructured.Unstructured, error) {
			crds, err := simulator.CRDs()
			if err != nil {
				return nil, err
			}
			return plane.Untyped(crds)
		},
	}
}

// CreateMetal3Cluster creates a cluster and the hosts of a layout, whose domains are
// the cluster's failure domains, and waits until the manager has counted all hosts as
// free.
func CreateMetal3Cluster(ctx context.Context, api client.Client, name string, layout simulator.Layout) (*Cluster, error) {
	c := &Cluster{Name: name, Kind: "Metal3"}
	if err := c.Create(ctx, api); err != nil {
		return nil, err
	}
	if err := simulator.Create(ctx, api, name, layout); err != nil {
		return nil, err
	}
	infra := &infrav1.Metal3Cluster{ObjectMeta: c.Meta(name), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: Endpoint().Host, Port: Endpoint().Port},
	}}
	infra.OwnerReferences = []metav1.OwnerReference{c.Owner}
	for _, domain := range layout.Domains {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: domain.Name, ControlPlane: new(true)})
	}
	if err := Create(ctx, api, infra); err != nil {
		return nil, err
	}
	return c, counted(ctx, api, infra, layout.Domains)
}

func counted(ctx context.Context, api client.Client, infra *infrav1.Metal3Cluster, domains []simulator.Domain) error {
	missing := func(domain simulator.Domain) bool {
		return !slices.ContainsFunc(infra.Status.FailureDomains, func(published clusterv1.FailureDomain) bool {
			return published.Name == domain.Name && published.Attributes["freeHosts"] == strconv.Itoa(domain.Hosts)
		})
	}
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(infra), infra)
		return err == nil && !slices.ContainsFunc(domains, missing), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the failure domains: %w%s", Because(ctx, err), Explain(infra.Status.Conditions))
	}
	return nil
}

// Metal3Machine is one that any host will do for.
func Metal3Machine(meta metav1.ObjectMeta) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{ObjectMeta: meta, Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: strings.Repeat("0", 64)},
	}}
}
