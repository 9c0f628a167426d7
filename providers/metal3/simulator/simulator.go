// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
	"github.com/faultline-io/faultline/shared/simulation"
)

const (
	defaultWorkers = 20
	// credentialsField indexes hosts by the name of their BMC Secret.
	credentialsField = "spec.bmc.credentialsName"
	// stopTimeout is how long a test waits for its simulator to stop.
	stopTimeout = 30 * time.Second
)

// Simulator simulates one bare-metal operator with all its hardware. Its methods are safe for concurrent use.
type Simulator struct {
	namespace string
	workers   int
	now       func() time.Time
	delays    Delays
	seed      uint64
	hooks     Hooks
	inventory Inventory
	quiet     bool

	progress *operator.ProgressTable
	faults   *operator.FaultTable
	queue    queue
	written  simulation.Guard

	client client.Client
	// live reads from the API server.
	live     client.Reader
	machines *operator.Machines
	hardware *operator.HardwareData
	recorder events.EventRecorder
}

// New returns a Simulator that is not running: add it to a manager with SetupWithManager, or call Run.
func New(opts ...Option) *Simulator {
	s := &Simulator{
		workers:   defaultWorkers,
		now:       time.Now,
		seed:      1,
		inventory: StandardInventory,
		faults:    operator.NewFaultTable(),
	}
	for _, opt := range opts {
		opt(s)
	}
	s.progress = operator.NewProgressTable(s.delays, s.seed)
	return s
}

// SetupWithManager adds the simulator to a manager whose scheme includes AddToScheme.
func (s *Simulator) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	s.client, s.live, s.recorder = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("baremetalhost-simulator")
	s.machines, s.hardware = operator.NewMachines(s.client, s.live, s.hooks), operator.NewHardwareData(s.client, s.live)
	err := mgr.GetFieldIndexer().IndexField(ctx, &bmov1alpha1.BareMetalHost{}, credentialsField,
		func(obj client.Object) []string {
			return []string{obj.(*bmov1alpha1.BareMetalHost).Spec.BMC.CredentialsName}
		})
	if err != nil {
		return fmt.Errorf("indexing hosts: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).Named("baremetalhost-simulator").For(&bmov1alpha1.BareMetalHost{}).
		Watches(&bmov1alpha1.HardwareData{}, &handler.EnqueueRequestForObject{}).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(s.hostsOfSecret)).
		WatchesRawSource(source.Func(s.connect)).
		WithOptions(controller.Options{MaxConcurrentReconciles: s.workers, SkipNameValidation: ptr.To(true)}).
		Complete(s)
}

func (s *Simulator) connect(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue.connect(q.Add)
	return nil
}

func (s *Simulator) hostsOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	hosts := &bmov1alpha1.BareMetalHostList{}
	name := client.MatchingFields{credentialsField: secret.GetName()}
	if err := s.client.List(ctx, hosts, client.InNamespace(secret.GetNamespace()), name); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing hosts of a Secret", "secret", secret.GetName())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(hosts.Items))
	for i := range hosts.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&hosts.Items[i])})
	}
	return requests
}

// AddToScheme adds the kinds that the simulator uses to the scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	kinds := runtime.NewSchemeBuilder(corev1.AddToScheme, admissionv1.AddToScheme, bmov1alpha1.AddToScheme)
	return kinds.AddToScheme(scheme)
}

// Run runs the simulator until ctx is done. Its requests to the API server are not rate limited.
func (s *Simulator) Run(ctx context.Context, config *rest.Config) error {
	mgr, err := s.manager(ctx, config)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (s *Simulator) manager(ctx context.Context, config *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building scheme: %w", err)
	}
	mgr, err := simulation.NewManager(config, "baremetalhost-simulator", s.namespace, scheme)
	if err != nil {
		return nil, err
	}
	if err := s.SetupWithManager(ctx, mgr); err != nil {
		return nil, err
	}
	return mgr, operator.ValidateHosts(ctx, s.client)
}

// Start runs a Simulator until the test ends.
func Start(tb testing.TB, config *rest.Config, opts ...Option) *Simulator {
	tb.Helper()
	s := New(opts...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	mgr, err := s.manager(ctx, config)
	if err != nil {
		cancel()
		tb.Fatalf("starting BareMetalHost simulator: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("running BareMetalHost simulator: %v", err)
			}
		case <-time.After(stopTimeout):
			tb.Error("BareMetalHost simulator did not stop")
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		tb.Fatal("BareMetalHost simulator did not start")
	}
	return s
}

func (s *Simulator) time() metav1.Time { return metav1.NewTime(s.now()) }
