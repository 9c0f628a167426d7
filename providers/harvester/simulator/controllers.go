// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/virtualmachines"
)

// addControllers adds the controllers of all parts.
func (s *Simulator) addControllers(ctx context.Context, mgr ctrl.Manager) error {
	set := controllers.New(mgr, s.settings.workers, s.faults)
	clock, delays := controllers.NewClock(s.settings.now), s.settings.delays
	guests := virtualmachines.NewGuests(set.Client(), s.leases, s.settings.hooks, s.faults)
	err := errors.Join(
		cluster.IndexPods(ctx, set),
		cluster.AddResetPolicy(set, clock, delays.UntilReset()),
		virtualmachines.Index(ctx, set),
		cluster.AddKubernetes(ctx, set, s.proxy.Authority(), s.kubeVirt != nil),
		cluster.AddStorage(ctx, set, clock, delays, s.kubeVirt != nil),
		s.addKubeVirt(set, clock, guests),
		cluster.AddKubeVIP(set, s.leases, s.settings.kubeVIP == KubeVIPEager),
	)
	if s.settings.loadBalancer {
		err = errors.Join(err, cluster.AddLoadBalancer(set))
	}
	if err != nil {
		return fmt.Errorf("adding controllers: %w", err)
	}
	return nil
}

// addKubeVirt adds the controllers for virtual machines: all of them, or those that the real KubeVirt does not provide.
func (s *Simulator) addKubeVirt(set *controllers.Set, clock *controllers.Clock, guests *virtualmachines.Guests) error {
	if s.kubeVirt == nil {
		s.handler = s.client
		return virtualmachines.Add(set, clock, s.settings.delays, guests)
	}
	var err error
	if s.handler, err = client.New(s.kubeVirt.Handler(), client.Options{Scheme: s.env.Scheme}); err != nil {
		return fmt.Errorf("connecting as virt-handler: %w", err)
	}
	return virtualmachines.AddForKubeVirt(set, clock, s.settings.delays, guests, s.handler)
}
