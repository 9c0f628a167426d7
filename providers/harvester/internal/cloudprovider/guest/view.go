// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/instances"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/shared/remote"
)

// requestTimeout is the timeout of a request to Harvester that is not a watch.
const requestTimeout = 30 * time.Second

// errSyncing reports that the informer of a kind has not synced.
var errSyncing = errors.New("the informer has not synced yet")

// view reads from Harvester with the account of the cluster. It reads virtual machines, their instances and load balancers of one
// namespace, and hosts, from informers, and returns an error before they have synced. It writes to Harvester directly.
type view struct {
	client.Client // reads from the API server
	namespace     string
	config        *rest.Config
	cached        cache.Cache // of the namespace
	hosts         cache.Cache
	informers     map[string]cache.Informer // by Go type

	mu     sync.Mutex
	denied error // why hosts cannot be read
}

// newView parses a kubeconfig. It sends no requests.
func newView(kubeconfig []byte) (*view, error) {
	loaded, err := clientcmd.NewClientConfigFromBytes(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of Harvester: %w", err)
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of Harvester: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace in the kubeconfig of Harvester: %w", err)
	}
	config.UserAgent = "harvester-cloud-provider"
	remote.Rules{}.Bound(config)     // the kubeconfig comes from the administrator, like the flags
	config.QPS, config.Burst = -1, 0 // no client-side limit: Harvester's API server has priority and fairness, and requests are rare
	v := &view{namespace: namespace, config: config, informers: map[string]cache.Informer{}}
	return v, v.connect()
}

func (v *view) connect() error {
	scheme := runtime.NewScheme()
	if err := harvester.AddToScheme(scheme); err != nil {
		return err
	}
	limited := rest.CopyConfig(v.config)
	limited.Timeout = requestTimeout
	var err error
	if v.Client, err = client.New(limited, client.Options{Scheme: scheme, Mapper: harvester.Mapper()}); err != nil {
		return fmt.Errorf("connecting to Harvester: %w", err)
	}
	options := cache.Options{Scheme: scheme, Mapper: harvester.Mapper(), DefaultTransform: cache.TransformStripManagedFields()}
	options.DefaultWatchErrorHandler = v.watchFailed
	if v.hosts, err = cache.New(v.config, options); err != nil {
		return fmt.Errorf("connecting to Harvester: %w", err)
	}
	options.DefaultWatchErrorHandler = nil
	options.DefaultNamespaces = map[string]cache.Config{v.namespace: {}}
	if v.cached, err = cache.New(v.config, options); err != nil {
		return fmt.Errorf("connecting to Harvester: %w", err)
	}
	return nil
}

// start starts the informers.
func (v *view) start(ctx context.Context) error {
	if err := v.cached.IndexField(ctx, &kubevirtv1.VirtualMachine{}, instances.UIDField, instances.UID); err != nil {
		return err
	}
	if err := v.cached.IndexField(ctx, &kubevirtv1.VirtualMachineInstance{}, instances.HostnameField, instances.Hostname); err != nil {
		return err
	}
	for from, kinds := range map[cache.Cache][]client.Object{
		v.cached: {&kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineInstance{}, &lbv1.LoadBalancer{}},
		v.hosts:  {&corev1.Node{}},
	} {
		for _, kind := range kinds {
			informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("watching Harvester: %w", err)
			}
			v.informers[fmt.Sprintf("%T", kind)] = informer
		}
		go func() {
			if err := from.Start(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Informers of Harvester stopped")
			}
		}()
	}
	return nil
}

// watchFailed is called when the informer of hosts is not up to date.
func (v *view) watchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.denied == nil {
		klog.InfoS("The account may not read the hosts of Harvester: zone and region of Nodes come from the annotations that Harvester "+
			"sets on some virtual machines. To set them on all Nodes, bind a ClusterRole that allows "+
			"get, list and watch of nodes, and nothing else, to the account with a ClusterRoleBinding", "reason", err.Error())
	}
	v.denied = err
}

// synced reports whether the informer of a kind has synced.
func (v *view) synced(kind client.Object) bool {
	return v.informers[fmt.Sprintf("%T", kind)].HasSynced()
}

// ready returns why objects of a kind cannot be read.
func (v *view) ready(kind client.Object) error {
	if v.synced(kind) {
		return nil
	}
	if _, host := kind.(*corev1.Node); host {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.denied != nil {
			return v.denied
		}
	}
	return fmt.Errorf("reading %T of %s: %w", kind, v.config.Host, errSyncing)
}

// VM returns the virtual machine with that name, or nil.
func (v *view) VM(ctx context.Context, name string) (*kubevirtv1.VirtualMachine, error) {
	return read(ctx, v, v.cached, name, &kubevirtv1.VirtualMachine{})
}

// VMs returns the virtual machines that match a field.
func (v *view) VMs(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachine, error) {
	list := &kubevirtv1.VirtualMachineList{}
	if err := v.ready(&kubevirtv1.VirtualMachine{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), by)
	return list.Items, err
}

// Instance returns the instance of a virtual machine, or nil.
func (v *view) Instance(ctx context.Context, name string) (*kubevirtv1.VirtualMachineInstance, error) {
	return read(ctx, v, v.cached, name, &kubevirtv1.VirtualMachineInstance{})
}

// Instances returns the instances that match a field.
func (v *view) Instances(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachineInstance, error) {
	list := &kubevirtv1.VirtualMachineInstanceList{}
	if err := v.ready(&kubevirtv1.VirtualMachineInstance{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), by)
	return list.Items, err
}

// Host returns a host, or nil. The error is Forbidden if the account may not read hosts.
func (v *view) Host(ctx context.Context, name string) (*corev1.Node, error) {
	return read(ctx, v, v.hosts, name, &corev1.Node{})
}

// read returns the object, or nil if it does not exist.
func read[T client.Object](ctx context.Context, v *view, from cache.Cache, name string, o T) (T, error) {
	var none T
	if err := v.ready(o); err != nil {
		return none, err
	}
	key := client.ObjectKey{Namespace: v.namespace, Name: name}
	if from == v.hosts {
		key.Namespace = ""
	}
	if err := from.Get(ctx, key, o); apierrors.IsNotFound(err) {
		return none, nil
	} else if err != nil {
		return none, err
	}
	return o, nil
}

// Namespace returns the namespace of the cluster's virtual machines and load balancers.
func (v *view) Namespace() string { return v.namespace }

// Balancers returns the load balancers with these labels.
func (v *view) Balancers(ctx context.Context, labels client.MatchingLabels) ([]lbv1.LoadBalancer, error) {
	list := &lbv1.LoadBalancerList{}
	if err := v.ready(&lbv1.LoadBalancer{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), labels)
	return list.Items, err
}

// informer returns the informer of a kind.
func (v *view) informer(kind client.Object) cache.Informer {
	return v.informers[fmt.Sprintf("%T", kind)]
}

// read reports whether all informers that the account may use have synced.
func (v *view) read() bool {
	return v.ready(&kubevirtv1.VirtualMachine{}) == nil && v.ready(&kubevirtv1.VirtualMachineInstance{}) == nil &&
		v.ready(&lbv1.LoadBalancer{}) == nil && !errors.Is(v.ready(&corev1.Node{}), errSyncing)
}
