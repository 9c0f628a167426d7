// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harvestermachine brings one virtual machine of a Harvester from nothing to being the Node of a Machine, and back.
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

// Reconciler drives HarvesterMachines.
type Reconciler struct {
	Client client.Client
	// Live reads the bootstrap data, which are no reason to remember every Secret.
	Live        client.Reader
	Connections *harvester.Connections
	Addresses   *ipam.Claimer
	// Workloads reaches the Nodes of workload clusters. It has the index of provider IDs.
	Workloads clustercache.ClusterCache
	Recorder  events.EventRecorder

	filter     watch.Filter
	written    patch.Written
	controller controller.Controller
	failing    sync.Map // by the keys of machines, since when nothing of their deletion succeeds
}

// scope is what one reconcile knows. It holds data only, and what has been found first is known to all steps behind.
type scope struct {
	// cluster and infraCluster are nil when they do not exist; machine is nil when nothing owns the HarvesterMachine.
	cluster      *clusterv1.Cluster
	infraCluster *infrav1.HarvesterCluster
	machine      *clusterv1.Machine
	infra        *infrav1.HarvesterMachine
	patch        *patch.Patch

	// conn shows what is on Harvester, and may be written to until exit is called; both are nil before.
	conn *harvester.Connection
	exit func()
	// queued says that the machine waits for its turn, or for what is being read of Harvester, which is soon over as a rule.
	queued bool
	hosts  []placement.Host
	// vm is the machine's own; nil while it has none. vmi is its instance; nil while it does not run.
	vm  *kubevirtv1.VirtualMachine
	vmi *kubevirtv1.VirtualMachineInstance
	// stopped says that nothing of a machine that is being deleted runs any more.
	stopped bool
	// comesUp says that there is nothing wrong with the virtual machine, and that the status has it that there is one.
	comesUp bool
	// wanted is what the virtual machine is made of, as far as that is known, and note what of it is not as it was asked for.
	wanted virtualmachine.Input
	note   string
	// pools are those that its address is taken from. disputed says that the address which it has is another's there.
	pools    []string
	disputed bool
}

func (s *scope) key() client.ObjectKey { return client.ObjectKeyFromObject(s.infra) }

func (s *scope) asker() harvester.Asker {
	return harvester.Asker{Kind: harvester.Machine, Key: s.key()}
}

// place is where the virtual machine is, by its name on Harvester.
func (s *scope) place() client.ObjectKey {
	return client.ObjectKey{Namespace: s.infraCluster.Spec.TargetNamespace, Name: virtualmachine.Name(s.infra)}
}

// begun reports whether anything of the machine may exist on Harvester.
func (s *scope) begun() bool {
	return s.infra.Spec.ProviderID != "" || s.infra.Annotations[infrav1.MachineIDAnnotation] != ""
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machines/status,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;clusters/status,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile runs the steps that the machine still needs, up to the first that has to wait.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.HarvesterMachine, *scope]{
		Client: r.Client, Filter: r.filter, Written: &r.written, Recorder: r.Recorder,
		Gather: r.gather, Quiet: assignedSoon, Normal: r.provision, Delete: r.delete, Settle: settle, Summarize: r.summarize, Forget: r.forget,
	}.Run(ctx, req, &infrav1.HarvesterMachine{})
}

// Owner is the Cluster.
func (s *scope) Owner() *clusterv1.Cluster { return s.cluster }

func (r *Reconciler) forget(key client.ObjectKey) {
	r.failing.Delete(key)
	r.Connections.Forget(harvester.Asker{Kind: harvester.Machine, Key: key})
}

// provision runs the steps to a Node. Those up to create do nothing once there is a virtual machine.
func (r *Reconciler) provision(ctx context.Context, s *scope) (ctrl.Result, error) {
	defer s.leave()
	p, err := reconcile.RunSteps(ctx, s, r.prepare, r.checkID, r.connect, r.find, r.choosePlace, r.resolve, r.record, r.keepAddress, r.takeAddress, r.create,
		r.takeOver, r.observe, r.locate, r.linkNode)
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
