// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/process"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/virtualmachines"
	"github.com/faultline-io/faultline/shared/simulation"
	"github.com/faultline-io/faultline/shared/testenv"
)

const (
	userAgent = "harvester-simulator"
	// serviceRange is large enough for any number of load balancers.
	serviceRange = "10.53.0.0/16"
	// stopTimeout limits the wait for the controllers to stop.
	stopTimeout = 30 * time.Second
)

// Simulator simulates one Harvester cluster. Its methods are safe for concurrent use.
type Simulator struct {
	settings settings
	env      *envtest.Environment
	client   client.WithWatch
	proxy    *simulation.Proxy
	// admin is the token of Kubeconfig.
	admin  string
	leases *cluster.Leases
	// cached is the cached reader of the controllers.
	cached     client.Reader
	faults     *controllers.FaultTable
	hosts      *cluster.Hosts
	migrations *virtualmachines.Migrations
	scheduler  *process.Process
	// kubeVirt is the real KubeVirt; nil if it is simulated.
	kubeVirt *process.KubeVirt
	// handler writes with the permissions of virt-handler.
	handler client.Client
	// folder holds files of programs.
	folder string
	// closers stop what is running, in reverse order.
	closers []func() error
}

// AddToScheme adds the kinds of a Harvester cluster that the simulator uses to the scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	kinds := runtime.NewSchemeBuilder(admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		kubevirtv1.AddToScheme, harvesterhciv1.AddToScheme, netattv1.AddToScheme, lbv1.AddToScheme)
	return kinds.AddToScheme(scheme)
}

// Start runs a Simulator until the test ends.
func Start(tb testing.TB, opts ...Option) *Simulator {
	tb.Helper()
	s, err := Run(tb.Context(), opts...)
	if err != nil {
		tb.Fatalf("starting Harvester simulator: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Errorf("stopping Harvester simulator: %v", err)
		}
	})
	return s
}

// Main runs the tests of a package, which share the Simulator that it stores in shared, and exits. TestMain must call it last.
func Main(m interface{ Run() int }, shared **Simulator, opts ...Option) {
	code, err := runTests(m, shared, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m interface{ Run() int }, shared **Simulator, opts []Option) (int, error) {
	s, err := Run(context.Background(), opts...)
	if err != nil {
		return 0, fmt.Errorf("starting Harvester simulator: %w", err)
	}
	*shared = s
	return m.Run(), s.Stop()
}

// Run starts a Simulator. It runs until Stop is called, regardless of ctx.
func Run(ctx context.Context, opts ...Option) (*Simulator, error) {
	s := &Simulator{settings: newSettings(opts), leases: cluster.NewLeases(), faults: controllers.NewFaultTable()}
	for _, start := range []func(context.Context) error{
		s.prepare, s.startAPI, s.startProxy, s.startControllers, s.startWebhooks, s.startKubeVirt, s.startScheduling, s.populate,
	} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	return s, nil
}

// Stop stops everything and returns the errors of components that had failed.
func (s *Simulator) Stop() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *Simulator) onStop(closer func() error) { s.closers = append(s.closers, closer) }

// NeedsMigration skips a test that requires live migration if the real KubeVirt is used.
func (s *Simulator) NeedsMigration(tb testing.TB) {
	tb.Helper()
	if s.kubeVirt != nil {
		tb.Skip(errNoMigration)
	}
}

// NeedsSimulatedKubeVirt skips a test of a fault of virt-controller if that is the real one.
func (s *Simulator) NeedsSimulatedKubeVirt(tb testing.TB) {
	tb.Helper()
	if s.kubeVirt != nil {
		tb.Skip("the real virt-controller has no such fault")
	}
}

// Client returns an administrator's client, which bypasses all network faults.
func (s *Simulator) Client() client.WithWatch { return s.client }

// prepare creates the files that programs need at their start.
func (s *Simulator) prepare(context.Context) error {
	var err error
	if s.folder, err = os.MkdirTemp("", "harvester-simulator-"); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	s.onStop(func() error { return os.RemoveAll(s.folder) })
	if programs := s.settings.programs; programs != nil {
		s.kubeVirt, err = process.NewKubeVirt(*programs, s.folder)
	}
	return err
}

func (s *Simulator) startAPI(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return fmt.Errorf("building scheme: %w", err)
	}
	crds, err := s.crds()
	if err != nil {
		return err
	}
	env, stop, err := testenv.Open(ctx, testenv.Options{Scheme: scheme, Assets: s.settings.assets, CRDs: crds, Configure: func(plane *envtest.ControlPlane) {
		// The addresses of Services are not reachable: webhooks are called at their endpoints.
		plane.GetAPIServer().Configure().Set("service-cluster-ip-range", serviceRange).Set("enable-aggregator-routing", "true")
		// As in RKE2, so that idle watches get bookmarks, too.
		plane.Etcd.Configure().Set("watch-progress-notify-interval", "5s")
		if s.kubeVirt != nil {
			s.kubeVirt.Configure(plane)
		}
	}})
	if err != nil {
		return err
	}
	s.onStop(stop)
	s.env = env
	s.client, err = client.NewWithWatch(s.config(), client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	s.hosts = cluster.NewHosts(s.client, s.settings.now)
	s.migrations = virtualmachines.NewMigrations(s.client, s.hosts, s.settings.now, s.settings.delays.Migration)
	if s.kubeVirt != nil {
		return s.kubeVirt.Install(ctx, s.config(), s.client)
	}
	return nil
}

// crds returns CRDs without those that KubeVirt installs itself.
func (s *Simulator) crds() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := CRDs()
	if s.kubeVirt == nil || err != nil {
		return crds, err
	}
	return slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == kubevirtv1.GroupVersion.Group
	}), nil
}

// startKubeVirt starts the programs of the real KubeVirt.
func (s *Simulator) startKubeVirt(ctx context.Context) error {
	if s.kubeVirt == nil {
		return nil
	}
	s.onStop(s.kubeVirt.Stop)
	return s.kubeVirt.Start(ctx)
}

// config returns the configuration of an administrator without rate limits.
func (s *Simulator) config() *rest.Config { return simulation.Unlimited(s.env.Config, userAgent) }

func (s *Simulator) startControllers(ctx context.Context) error {
	mgr, err := simulation.NewManager(s.env.Config, userAgent, "", s.env.Scheme)
	if err != nil {
		return err
	}
	s.cached = mgr.GetClient()
	if err := s.addControllers(ctx, mgr); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.onStop(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(stopTimeout):
			return errors.New("timed out waiting for the simulator's controllers to stop")
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the caches of the simulator's controllers did not sync")
	}
	return nil
}

func (s *Simulator) startWebhooks(ctx context.Context) error {
	as := virtualmachines.WebhookIdentity{Certificate: s.proxy.Certificate(), Authority: s.proxy.Authority()}
	stop, err := virtualmachines.StartWebhooks(ctx, s.cached, s.client, as, s.kubeVirt == nil)
	if err != nil {
		return err
	}
	s.onStop(stop)
	return nil
}

func (s *Simulator) startScheduling(ctx context.Context) error {
	var err error
	if s.scheduler, err = process.StartScheduler(ctx, s.settings.assets, s.env.KubeConfig, s.folder); err != nil {
		return err
	}
	s.onStop(s.scheduler.Stop)
	return nil
}
