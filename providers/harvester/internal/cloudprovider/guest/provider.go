// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guest implements the cloud provider of guest clusters on Harvester.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	kubevirtv1 "kubevirt.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/instances"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/services"
)

// Name is the value of the flag --cloud-provider.
const Name = "harvester"

// firstReading is how long the start of the controllers is delayed while Harvester has not responded. Controllers that read before that
// get an error and retry.
const firstReading = 10 * time.Second

// Provider implements cloudprovider.Interface.
type Provider struct {
	view      *view
	services  services.Options
	addresses instances.AddressOptions
	follow    bool // update zone and region of Nodes when their virtual machines migrate

	ctx       context.Context //nolint:containedctx // that of the process, which the framework gives as a channel
	client    kubernetes.Interface
	instances *instances.Instances
	balancers *services.Services
}

var (
	_ cloudprovider.Interface    = &Provider{}
	_ cloudprovider.InformerUser = &Provider{}
)

// newProvider reads the configuration, a kubeconfig of Harvester.
func newProvider(config io.Reader, o Options) (*Provider, error) {
	if config == nil {
		return nil, errors.New("flag --cloud-config must name a file with a kubeconfig for Harvester")
	}
	kubeconfig, err := io.ReadAll(config)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of Harvester: %w", err)
	}
	v, err := newView(kubeconfig)
	if err != nil {
		return nil, err
	}
	return &Provider{view: v, services: o.services, addresses: o.addresses, follow: !o.DisableVMIController}, nil
}

// Initialize starts the informers of Harvester.
func (p *Provider) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.ctx = wait.ContextForChannel(stop)
	p.client = builder.ClientOrDie("harvester-cloud-provider")
	if err := p.view.start(p.ctx); err != nil {
		klog.Fatalf("Starting informers of Harvester: %v", err)
	}
}

// SetInformers starts the work that needs the informers of the guest cluster.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	nodes, all := factory.Core().V1().Nodes(), factory.Core().V1().Services()
	balancers, err := services.New(p.view, p.client, all.Informer(), p.nic, p.services)
	if err != nil {
		klog.Fatalf("Preparing load balancers: %v", err)
	}
	p.balancers = balancers
	p.instances = instances.New(p.view, nodes.Lister(), p.addresses, balancers.Balanced)
	p.background("load balancers", func(ctx context.Context) error {
		return balancers.Follow(ctx, all.Informer(), p.view.informer(&lbv1.LoadBalancer{}))
	})
	if p.follow {
		p.background("Nodes", func(ctx context.Context) error {
			return p.instances.Follow(ctx, p.client, nodes.Informer(), p.view.informer(&kubevirtv1.VirtualMachineInstance{}), p.view.informer(&corev1.Node{}))
		})
	}
	ctx, cancel := context.WithTimeout(p.ctx, firstReading)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), p.view.read) {
		klog.Info("Informers of Harvester have not synced yet")
	}
}

// nic returns the interface of the Nodes in a network.
func (p *Provider) nic(ctx context.Context, network string) (string, error) {
	return p.instances.NIC(ctx, network)
}

func (p *Provider) background(what string, run func(context.Context) error) {
	go func() {
		if err := run(p.ctx); err != nil {
			klog.Fatalf("Reconciling %s failed: %v", what, err)
		}
	}()
}

// LoadBalancer returns the implementation for Services.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.balancers, true }

// Instances is superseded by InstancesV2.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// InstancesV2 returns the implementation for Nodes.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p.instances, true }

// Zones is superseded by InstancesV2.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not implemented: the framework does not use it any more.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes is not implemented: the network plugin manages routes.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName returns Name.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID returns true: a cluster is identified by the UID of its namespace kube-system.
func (p *Provider) HasClusterID() bool { return true }
