// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// clustersAtOnce is the number of clusters that are reconciled in parallel.
	clustersAtOnce = 4

	clusterNameField = "spec.clusterName"
)

// setUp registers the controller, which updates each in-memory cluster from its Machines, with the manager.
func (s *Simulator) setUp(ctx context.Context) error {
	err := s.manager.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, clusterNameField, func(o client.Object) []string {
		return []string{o.(*clusterv1.Machine).Spec.ClusterName}
	})
	if err != nil {
		return fmt.Errorf("indexing machines: %w", err)
	}
	toCluster := handler.EnqueueRequestsFromMapFunc
	err = ctrl.NewControllerManagedBy(s.manager).
		Named("workload-simulator").
		For(&clusterv1.Cluster{}).
		Watches(&clusterv1.Machine{}, toCluster(clusterOfMachine)).
		Watches(&corev1.Secret{}, toCluster(clusterOfAuthority), builder.OnlyMetadata).
		WatchesRawSource(source.Func(s.watchMemory)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: clustersAtOnce,
			// Several simulators may run in one process.
			SkipNameValidation: ptr.To(true),
		}).
		Complete(reconcile.Func(s.reconcile))
	if err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	return nil
}

func clusterOfMachine(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{
		Namespace: o.GetNamespace(), Name: o.(*clusterv1.Machine).Spec.ClusterName,
	}}}
}

// clusterOfAuthority returns the cluster whose authority is in a Secret.
func clusterOfAuthority(_ context.Context, o client.Object) []reconcile.Request {
	for _, purpose := range []secret.Purpose{secret.ClusterCA, secret.EtcdCA} {
		if name, ok := strings.CutSuffix(o.GetName(), "-"+string(purpose)); ok {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
		}
	}
	return nil
}

// reconcile updates one in-memory cluster.
func (s *Simulator) reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &clusterv1.Cluster{}
	if err := s.manager.GetClient().Get(ctx, request.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			s.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading cluster %s: %w", request.NamespacedName, err)
	}
	if ptr.Deref(object.Spec.Paused, false) && s.pause(object) {
		return ctrl.Result{}, nil
	}
	c, err := s.adopt(object)
	if c == nil || err != nil {
		return ctrl.Result{}, err
	}
	if ready, err := s.ensurePKI(ctx, c); !ready || err != nil {
		return ctrl.Result{}, err
	}
	machines, err := s.machines(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, c.carryOut(ctx, decide(c.observe(machines)))
}

// carryOut executes a decision. A failed part does not prevent the others.
func (c *cluster) carryOut(ctx context.Context, d decision) error {
	var errs []error
	for _, name := range d.remove {
		errs = append(errs, c.removeNode(ctx, name))
	}
	for _, name := range d.stop {
		errs = append(errs, c.setReady(ctx, name, false))
	}
	for _, m := range d.boot {
		errs = append(errs, c.boot(ctx, m))
	}
	return errors.Join(append(errs, c.leaveEtcd(ctx), c.settle(ctx))...)
}

// ensurePKI reads the cluster's authorities, which everything else needs. It returns false while they do not exist; the creation of their
// Secrets triggers another reconcile.
func (s *Simulator) ensurePKI(ctx context.Context, c *cluster) (bool, error) {
	if c.hasPKI() {
		return true, nil
	}
	var p pki
	for purpose, target := range map[secret.Purpose]**authority{secret.ClusterCA: &p.cluster, secret.EtcdCA: &p.etcd} {
		found, err := secret.Get(ctx, s.manager.GetAPIReader(), c.key, purpose) // uncached, because it is read once
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading authority %s of cluster %s: %w", purpose, c.key, err)
		}
		if *target, err = authorityFrom(found); err != nil {
			return false, fmt.Errorf("reading authority %s of cluster %s: %w", purpose, c.key, err)
		}
	}
	return true, c.usePKI(ctx, &p)
}

func (s *Simulator) machines(ctx context.Context, key client.ObjectKey) ([]machine, error) {
	list := &clusterv1.MachineList{}
	err := s.manager.GetClient().List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{clusterNameField: key.Name})
	if err != nil {
		return nil, fmt.Errorf("listing machines of cluster %s: %w", key, err)
	}
	machines := make([]machine, 0, len(list.Items))
	for i := range list.Items {
		machines = append(machines, machineFrom(&list.Items[i]))
	}
	return machines, nil
}

// machineFrom returns the fields of a Machine that matter to the simulation.
func machineFrom(m *clusterv1.Machine) machine {
	result := machine{
		name:         m.Name,
		nodeName:     m.Name,
		providerID:   m.Spec.ProviderID,
		version:      m.Spec.Version,
		addresses:    m.Status.Addresses,
		controlPlane: util.IsControlPlaneMachine(m),
		rke2:         m.Spec.Bootstrap.ConfigRef.Kind == "RKE2Config",
		created:      m.CreationTimestamp.Time,
		bootable: ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false) &&
			m.Spec.ProviderID != "" && ptr.Deref(m.Spec.Bootstrap.DataSecretName, "") != "",
		deleting: !m.DeletionTimestamp.IsZero(),
		lost:     conditions.GetReason(m, clusterv1.MachineInfrastructureReadyCondition) == clusterv1.MachineInfrastructureDeletedReason,
		joined:   m.Status.NodeRef.IsDefined(),
	}
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineHostName {
			result.nodeName = a.Address
			break
		}
	}
	// A node keeps the name that it registered with.
	if result.joined {
		result.nodeName = m.Status.NodeRef.Name
	}
	return result
}
