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

// requestTimeout is how long Harvester may take over one request that is not a watch.
const requestTimeout = 30 * time.Second

// errSyncing says that nothing is known yet of a kind.
var errSyncing = errors.New("it has not answered yet")

// view is what the account sees of Harvester. It reads virtual machines, their instances and load balancers of one namespace, and hosts, from
// informers, and never says that something is not there before they have synced. It writes to Harvester.
type view struct {
	client.Client // asks Harvester itself
	namespace     string
	config        *rest.Config
	cached        cache.Cache // what is in the namespace
	hosts         cache.Cache
	informers     map[string]cache.Informer // by Go type

	mu     sync.Mutex
	denied error // why hosts cannot be seen
}

// newView reads a kubeconfig. It asks nobody.
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
	remote.Rules{}.Bound(config)     // the kubeconfig itself is the administrator's, as the program's flags are
	config.QPS, config.Burst = -1, 0 // Harvester's API server has a queue for each user, and is asked little
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
	options.DefaultWatchErrorHandler = v.hidden
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

// start begins to read what is on Harvester.
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
				klog.FromContext(ctx).Error(err, "The informers of Harvester ended")
			}
		}()
	}
	return nil
}

// hidden is told why the hosts are not up to date.
func (v *view) hidden(ctx context.Context, r *toolscache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.denied == nil {
		klog.InfoS("The account has no right to see the hosts of Harvester: zone and region of Nodes are taken from annotations of "+
			"their virtual machines, where Harvester has put them there. To have them always, bind a ClusterRole that allows "+
			"get, list and watch of nodes, and nothing else, to the account by a ClusterRoleBinding", "reason", err.Error())
	}
	v.denied = err
}

// synced reports whether all objects of a kind have been read once.
func (v *view) synced(kind client.Object) bool {
	return v.informers[fmt.Sprintf("%T", kind)].HasSynced()
}

// ready says why objects of a kind cannot be read.
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

// VM returns the virtual machine of that name; nil when there is none.
func (v *view) VM(ctx context.Context, name string) (*kubevirtv1.VirtualMachine, error) {
	return read(ctx, v, v.cached, name, &kubevirtv1.VirtualMachine{})
}

// VMs returns the virtual machines that a field selects.
func (v *view) VMs(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachine, error) {
	list := &kubevirtv1.VirtualMachineList{}
	if err := v.ready(&kubevirtv1.VirtualMachine{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), by)
	return list.Items, err
}

// Instance returns the instance of a virtual machine; nil when it has none.
func (v *view) Instance(ctx context.Context, name string) (*kubevirtv1.VirtualMachineInstance, error) {
	return read(ctx, v, v.cached, name, &kubevirtv1.VirtualMachineInstance{})
}

// Instances returns the instances that a field selects.
func (v *view) Instances(ctx context.Context, by client.MatchingFields) ([]kubevirtv1.VirtualMachineInstance, error) {
	list := &kubevirtv1.VirtualMachineInstanceList{}
	if err := v.ready(&kubevirtv1.VirtualMachineInstance{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), by)
	return list.Items, err
}

// Host returns a host; nil when there is none. The error is that of a refusal when the account may not see hosts.
func (v *view) Host(ctx context.Context, name string) (*corev1.Node, error) {
	return read(ctx, v, v.hosts, name, &corev1.Node{})
}

// read is nil when the object is not there.
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

// Namespace is the one that the cluster's virtual machines and load balancers are in.
func (v *view) Namespace() string { return v.namespace }

// Balancers returns the load balancers that have these labels.
func (v *view) Balancers(ctx context.Context, labels client.MatchingLabels) ([]lbv1.LoadBalancer, error) {
	list := &lbv1.LoadBalancerList{}
	if err := v.ready(&lbv1.LoadBalancer{}); err != nil {
		return nil, err
	}
	err := v.cached.List(ctx, list, client.InNamespace(v.namespace), labels)
	return list.Items, err
}

// changes tells of those of a kind.
func (v *view) changes(kind client.Object) cache.Informer {
	return v.informers[fmt.Sprintf("%T", kind)]
}

// read reports whether all has been read once that the account may see.
func (v *view) read() bool {
	return v.ready(&kubevirtv1.VirtualMachine{}) == nil && v.ready(&kubevirtv1.VirtualMachineInstance{}) == nil &&
		v.ready(&lbv1.LoadBalancer{}) == nil && !errors.Is(v.ready(&corev1.Node{}), errSyncing)
}
