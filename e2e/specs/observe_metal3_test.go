//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/workload"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// hostsInMemory is the number of hosts in a rack for the most demanding spec: a worker group during its rollout.
	hostsInMemory = 12
	// hostsThatBoot allows for a control-plane machine, two workers, and one replacement.
	hostsThatBoot = 4
	// firstHost leaves lower numbers to the hosts of the environment.
	firstHost = 20
)

// metal3Observer observes clusters on bare metal.
type metal3Observer struct {
	outside

	// made is the number of booting hosts created so far: each has a unique number.
	made int
}

// Prepare creates hosts. Those that boot suffice for a control-plane machine, a worker and a replacement in each rack.
func (o *metal3Observer) Prepare(ctx context.Context, namespace string) (map[string]string, error) {
	layout, hosts := simulator.Layout{}, hostsInMemory
	if o.Boot {
		layout.First, hosts = firstHost+o.made, hostsThatBoot
		o.made += hosts * len(infra.Domains)
	}
	for _, rack := range infra.Domains {
		layout.Domains = append(layout.Domains, simulator.Domain{Name: rack, Hosts: hosts})
	}
	return nil, simulator.Create(ctx, o.Client(), namespace, layout)
}

func (o *metal3Observer) SetDomains(ctx context.Context, key client.ObjectKey, names []string) error {
	return o.change(ctx, key, func(cluster *infrav1.Metal3Cluster) {
		cluster.Spec.FailureDomains = nil
		for _, name := range names {
			cluster.Spec.FailureDomains = append(cluster.Spec.FailureDomains, clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(true)})
		}
	})
}

func (o *metal3Observer) change(ctx context.Context, key client.ObjectKey, change func(*infrav1.Metal3Cluster)) error {
	cluster := &infrav1.Metal3Cluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	change(cluster)
	return o.Client().Update(ctx, cluster)
}

func (o *metal3Observer) Places(ctx context.Context, cluster string) (map[string]string, error) {
	hosts, err := simulator.Placements(ctx, o.Client(), cluster)
	if err != nil {
		return nil, err
	}
	places := map[string]string{}
	for _, host := range hosts {
		if host.Consumer != "" {
			places[host.Consumer] = host.Domain
		}
	}
	return places, nil
}

// server holds the properties that identify a host in use, and change if something was done to it.
type server struct {
	Host, Domain, MAC, Image, ProvisioningID string
	State                                    bmov1alpha1.ProvisioningState
	Health                                   bmov1alpha1.OperationalStatus
	PoweredOn, Paused                        bool
	Done                                     bmov1alpha1.OperationHistory
}

func (o *metal3Observer) Machines(ctx context.Context, cluster string) (map[string]any, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := o.Client().List(ctx, hosts, client.InNamespace(cluster)); err != nil {
		return nil, err
	}
	found := map[string]any{}
	for i := range hosts.Items {
		host, status := &hosts.Items[i], &hosts.Items[i].Status
		if host.Spec.ConsumerRef == nil {
			continue
		}
		found[host.Spec.ConsumerRef.Name] = server{
			Host: host.Name, Domain: host.Labels[infrav1.FailureDomainLabel], MAC: host.Spec.BootMACAddress,
			Image: status.Provisioning.Image.URL, ProvisioningID: status.Provisioning.ID, State: status.Provisioning.State,
			Health: status.OperationalStatus, PoweredOn: status.PoweredOn, Paused: metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation),
			Done: status.OperationHistory,
		}
	}
	return found, nil
}

// SetBroken marks the hosts of a rack as unhealthy, as an administrator does.
func (o *metal3Observer) SetBroken(ctx context.Context, domain string, broken bool) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := o.Client().List(ctx, hosts, client.MatchingLabels{infrav1.FailureDomainLabel: domain}); err != nil {
		return err
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		before := host.DeepCopy()
		if broken {
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.UnhealthyAnnotation, "")
		} else {
			delete(host.Annotations, infrav1.UnhealthyAnnotation)
		}
		if err := client.IgnoreNotFound(o.Client().Patch(ctx, host, client.MergeFrom(before))); err != nil {
			return err
		}
	}
	return nil
}

// bootRetry is the retry interval of a machine that cannot boot yet.
const bootRetry = 500 * time.Millisecond

// connect powers machines of in-memory clusters on and off with their hosts until ctx ends.
func (*metal3Observer) connect(ctx context.Context, management *rest.Config, workloads *workload.Simulator) error {
	return newBoots(workloads).start(ctx, management)
}

// boots watches the hosts of the management cluster. A provisioned host with power runs the in-memory machine that its metadata
// identifies, as a real one does through cloud-init and the kubelet.
type boots struct {
	workloads *workload.Simulator
	client    client.Client
	secrets   client.Reader

	mu sync.Mutex
	// running maps hosts to the Machines that run on them.
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

// Reconcile starts or stops the machine of one host.
func (b *boots) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	host := &bmov1alpha1.BareMetalHost{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.client.Get(ctx, request.NamespacedName, host); err != nil {
		// A machine whose host object was deleted, for example by a move, keeps running. A released host has been stopped before.
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

// identity returns the identity that the templates make a machine register with.
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
