// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// observer looks at clusters on a vCenter.
type observer struct{ provider.Management }

// Observe implements provider.Specified.
func (Provider) Observe(m provider.Management) provider.Observer { return observer{m} }

// Connect has nothing to do: machines in memory follow their virtual machines' objects.
func (Provider) Connect(context.Context, *rest.Config, *workload.Simulator) error { return nil }

// Prepare has nothing to do: zones are in no namespace.
func (observer) Prepare(context.Context, string) (map[string]string, error) { return nil, nil }

func (o observer) Distribute(ctx context.Context, key client.ObjectKey, change func(*faultlinev1.Distribution)) error {
	cluster := &infrav1.VSphereCluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	change(&cluster.Spec.Distribution)
	return o.Client().Update(ctx, cluster)
}

// SetDomains labels the zones for the cluster, and has it select them. Zones are in no namespace: other clusters have them too.
func (o observer) SetDomains(ctx context.Context, key client.ObjectKey, names []string) error {
	label := "of-cluster/" + key.Name
	for _, name := range (Provider{}).Describe().Domains {
		zone := &infrav1.VSphereDeploymentZone{}
		if err := o.Client().Get(ctx, client.ObjectKey{Name: name}, zone); err != nil {
			return err
		}
		before := zone.DeepCopy()
		delete(zone.Labels, label)
		if slices.Contains(names, name) {
			metav1.SetMetaDataLabel(&zone.ObjectMeta, label, "")
		}
		if err := o.Client().Patch(ctx, zone, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	cluster := &infrav1.VSphereCluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	cluster.Spec.FailureDomainSelector = &metav1.LabelSelector{MatchLabels: map[string]string{label: ""}}
	return o.Client().Update(ctx, cluster)
}

func (o observer) Observed(ctx context.Context, namespace string) (map[string]string, error) {
	machines := &infrav1.VSphereMachineList{}
	if err := o.Client().List(ctx, machines, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return nil, err
	}
	domains := map[string]string{}
	for i := range machines.Items {
		domains[machines.Items[i].Name] = ptr.Deref(machines.Items[i].Status.FailureDomain, "")
	}
	return domains, nil
}

func (o observer) Places(ctx context.Context, cluster string) (map[string]string, error) {
	inventory, err := Connect(ctx, o.Variables())
	if err != nil {
		return nil, err
	}
	return inventory.clusterOf(ctx, cluster)
}

func (o observer) Machines(ctx context.Context, cluster string) (map[string]any, error) {
	inventory, err := Connect(ctx, o.Variables())
	if err != nil {
		return nil, err
	}
	return inventory.machines(ctx, cluster)
}

// SetBroken puts all hosts of a zone into maintenance.
func (o observer) SetBroken(ctx context.Context, domain string, broken bool) error {
	inventory, err := Connect(ctx, o.Variables())
	if err != nil {
		return err
	}
	if err := inventory.setMaintenance(ctx, domain, broken); err != nil {
		return fmt.Errorf("maintenance of %s: %w", domain, err)
	}
	return nil
}
