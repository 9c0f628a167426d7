// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// bootRetry is how long a machine waits that cannot boot yet.
const bootRetry = 500 * time.Millisecond

// boots watches the hosts of the management cluster: one that is provisioned and has power runs the machine in memory
// that its metadata says it is, as a real one would by its cloud-init and kubelet.
type boots struct {
	workloads *workload.Simulator
	client    client.Client
	secrets   client.Reader

	mu sync.Mutex
	// running are the Machines by host.
	running map[client.ObjectKey]client.ObjectKey
}

func newBoots(workloads *workload.Simulator) *boots {
	return &boots{workloads: workloads, running: map[client.ObjectKey]client.ObjectKey{}}
}

// start watches until ctx ends.
func (b *boots) start(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := simulator.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	b.client, b.secrets = manager.GetClient(), manager.GetAPIReader()
	// Each management cluster of the process has its own.
	options := controller.Options{SkipNameValidation: ptr.To(true)}
	if err := ctrl.NewControllerManagedBy(manager).Named("boots").For(&bmov1alpha1.BareMetalHost{}).WithOptions(options).Complete(b); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			ctrl.Log.Error(err, "Watching hosts")
		}
	}()
	return nil
}

// Reconcile lets one host's machine run, or stops it.
func (b *boots) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.client.Get(ctx, request.NamespacedName, host); err != nil {
		// What has no object any more, because it was moved for example, runs on. A host that was given back has been
		// stopped before.
		if apierrors.IsNotFound(err) {
			delete(b.running, request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	machine, running := b.running[request.NamespacedName]
	runs := host.Status.Provisioning.State == bmov1alpha1.StateProvisioned && host.Status.PoweredOn && !simulator.WithoutPower(host)
	switch {
	case runs && !running:
		machine, as, err := b.identity(ctx, host)
		if err == nil {
			err = b.workloads.PowerOn(ctx, machine, as)
		}
		if err != nil {
			ctrl.Log.Error(err, "Booting a host", "host", request)
			return ctrl.Result{RequeueAfter: bootRetry}, nil
		}
		b.running[request.NamespacedName] = machine
	case !runs && running:
		if err := b.workloads.PowerOff(ctx, machine); err != nil {
			return ctrl.Result{RequeueAfter: bootRetry}, nil
		}
		delete(b.running, request.NamespacedName)
	}
	return ctrl.Result{}, nil
}

// identity is what the templates let a machine register as.
func (b *boots) identity(ctx context.Context, host *bmov1alpha1.BareMetalHost) (machine client.ObjectKey, as workload.Identity, err error) {
	if host.Spec.MetaData == nil {
		return machine, as, fmt.Errorf("host %s has no metadata", host.Name)
	}
	secret := &corev1.Secret{}
	if err := b.secrets.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: host.Spec.MetaData.Name}, secret); err != nil {
		return machine, as, err
	}
	metadata := struct {
		Name       string `json:"name"`
		ProviderID string `json:"providerid"`
	}{}
	if err := yaml.Unmarshal(secret.Data["metaData"], &metadata); err != nil {
		return machine, as, fmt.Errorf("reading metadata of host %s: %w", host.Name, err)
	}
	return client.ObjectKey{Namespace: host.Namespace, Name: metadata.Name},
		workload.Identity{NodeName: metadata.Name, ProviderID: infrav1.ProviderIDPrefix + metadata.ProviderID}, nil
}
