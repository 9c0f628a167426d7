// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvestermachine reconciles the virtual machine of a Machine on Harvester, from creation to its Node and to deletion.
package harvestermachine

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reconciler reconciles HarvesterMachines.
type Reconciler struct {
	Client client.Client
	// Live reads bootstrap data without a cache, so that Secrets are not cached.
	Live        client.Reader
	Connections *harvester.Connections
	Addresses   *ipam.Claimer
	// Workloads gives access to the Nodes of workload clusters. It must have the indexes of NodeIndexes.
	Workloads clustercache.ClusterCache
	Recorder  events.EventRecorder

	filter       watch.Filter
	written      patch.Expectations
	controller   controller.Controller
	failingSince sync.Map // by key of the machine: since when its deletion has made no progress
}

// scope holds the state of one reconcile. It holds only data; each step can use what earlier steps found.
type scope struct {
	// cluster and infraCluster are nil if they do not exist; machine is nil if the HarvesterMachine has no owner.
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.HarvesterCluster
	machine      *clusterv1.Machine
	infra        *infrav1.HarvesterMachine
	patch        *patch.Patch

	// conn reads from Harvester, and may be used for requests until exit is called. Both are nil before connect and enter.
	conn    *harvester.Connection
	release func()
	// queued reports that the machine waits for a slot, or for a cache of Harvester's objects to sync. Both usually take a short time.
	queued bool
	hosts  []placement.Host
	// vm is the machine's own virtual machine; nil if it has none. vmi is its instance; nil while it is not running.
	vm  *kubevirtv1.VirtualMachine
	vmi *kubevirtv1.VirtualMachineInstance
	// stopped reports that neither the virtual machine nor its instance exists any more during deletion.
	stopped bool
	// startingUp reports that the virtual machine has no problem, and that the status already records that it exists.
	startingUp bool
	// wanted holds the known parameters of the virtual machine, and note describes how they deviate from the request.
	wanted virtualmachine.Input
	note   string
	// pools are the pools that the machine's address comes from. disputed reports that the pool has allocated the machine's address to
	// another holder.
	pools    []string
	disputed bool
}

func (s *scope) key() client.ObjectKey { return client.ObjectKeyFromObject(s.infra) }

func (s *scope) requester() harvester.Requester {
	return harvester.Requester{Kind: harvester.Machine, Key: s.key()}
}

// vmKey returns the namespace and name of the virtual machine on Harvester.
func (s *scope) vmKey() client.ObjectKey {
	return client.ObjectKey{Namespace: s.infraCluster.Spec.TargetNamespace, Name: virtualmachine.Name(s.infra)}
}

// mayExist reports whether any object of the machine may exist on Harvester.
func (s *scope) mayExist() bool {
	return s.infra.Spec.ProviderID != "" || s.infra.Annotations[infrav1.MachineIDAnnotation] != ""
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machines/status,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;clusters/status,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile runs the remaining steps of the machine, up to the first one that waits.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.HarvesterMachine, *scope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.written, Recorder: r.Recorder,
		NewScope: r.newScope, Delay: assignmentDelay, ReconcileNormal: r.provision, ReconcileDelete: r.delete, Debounce: debounce, Summarize: r.summarize, Forget: r.forget,
	}.Run(ctx, req, &infrav1.HarvesterMachine{})
}

// Owner returns the Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

func (r *Reconciler) forget(key client.ObjectKey) {
	r.failingSince.Delete(key)
	r.Connections.Forget(harvester.Requester{Kind: harvester.Machine, Key: key})
}

// provision runs the steps from an empty machine to its Node. Steps up to create do nothing once the virtual machine exists.
func (r *Reconciler) provision(ctx context.Context, s *scope) (ctrl.Result, error) {
	defer s.releaseSlot()
	p, err := reconcile.RunSteps(ctx, s, r.prepare, r.checkID, r.connect, r.findVM, r.chooseDomain, r.resolve, r.recordIdentity, r.adoptAddress, r.claimAddress, r.create,
		r.takeOver, r.observe, r.reportFailureDomain, r.linkNode)
	if err != nil {
		p, err = s.explain(err)
	}
	return p.Result(), err
}

func (r *Reconciler) event(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.infra, nil, corev1.EventTypeNormal, reason, action, format, args...)
}

func (r *Reconciler) warn(s *scope, reason, action, format string, args ...any) {
	r.Recorder.Eventf(s.infra, nil, corev1.EventTypeWarning, reason, action, format, args...)
}
