// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

// requeueInterval is the interval after which a waiting Service is reconciled again. Normally an event does that earlier; this covers
// silent watches.
const requeueInterval = time.Minute

// Harvester gives access to the load balancers.
type Harvester interface {
	// Namespace returns the namespace of the cluster's load balancers.
	Namespace() string
	// Balancers returns the load balancers of the namespace with these labels from the cache, or an error if that has not synced.
	Balancers(ctx context.Context, labels client.MatchingLabels) ([]lbv1.LoadBalancer, error)
	// These send requests to Harvester's API server.
	Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
	Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error
	Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error
}

// Services implements cloudprovider.LoadBalancer for the Services of a guest cluster.
type Services struct {
	options   Options
	harvester Harvester
	guest     kubernetes.Interface
	known     toolscache.Indexer // the Services of the guest cluster
	nics      NICs

	balancers patch.Repeats // on Harvester
	written   patch.Repeats // Services

	mu       sync.Mutex
	owner    string                          // UID of the guest cluster; "" until it was read
	replaced map[types.NamespacedName]string // addresses that Services had requested, until reported
}

var _ cloudprovider.LoadBalancer = &Services{}

// NICs returns the interface in a network of Harvester on the Nodes that announce addresses, or "" if not reported yet.
type NICs func(ctx context.Context, network string) (string, error)

// New returns Services for those in the informer.
func New(h Harvester, guest kubernetes.Interface, informer toolscache.SharedIndexInformer, nics NICs, o Options) (*Services, error) {
	if err := informer.AddIndexers(toolscache.Indexers{sharingIndex: bySharing}); err != nil {
		return nil, fmt.Errorf("indexing Services: %w", err)
	}
	return &Services{
		options: o, harvester: h, guest: guest, known: informer.GetIndexer(), nics: nics, replaced: map[types.NamespacedName]string{},
	}, nil
}

// GetLoadBalancer reports whether the Service has a LoadBalancer on Harvester. A Service that shares the address of another has none.
func (s *Services) GetLoadBalancer(ctx context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	for _, p := range s.options.allParts(service) {
		lb, err := s.getLive(ctx, p.name)
		if err != nil {
			return nil, false, err
		}
		if lb != nil {
			return service.Status.LoadBalancer.DeepCopy(), true, nil
		}
	}
	return nil, false, nil
}

// GetLoadBalancerName returns the name on Harvester.
func (s *Services) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return Name(s.options.Cluster, service)
}

// EnsureLoadBalancer allocates the address of the Service. Waiting is not an error, since the framework would emit a warning: Follow
// reports the reason and continues. Neither are a conflict with Follow or another client, and a client that reverts the writes.
func (s *Services) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	err := s.ensure(ctx, service)
	if waits := (&waitError{}); errors.As(err, &waits) || apierrors.IsConflict(err) || errors.Is(err, patch.ErrBehind) || errors.As(err, new(*patch.RemovedError)) {
		return nil, cloudprovider.ImplementedElsewhere
	}
	if err != nil {
		return nil, err
	}
	return service.Status.LoadBalancer.DeepCopy(), nil
}

// UpdateLoadBalancer does nothing: kube-vip watches the Nodes itself.
func (s *Services) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

// EnsureLoadBalancerDeleted releases the address. While other Services share it, it returns an error, and the Service stays.
func (s *Services) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	if sharing := s.sharing(keyOf(service)); len(sharing) > 0 {
		return fmt.Errorf("Service %s/%s shares the address by annotation %s: delete that Service, or remove the annotation",
			sharing[0].Namespace, sharing[0].Name, primaryAnnotation)
	}
	if service.DeletionTimestamp == nil {
		if err := s.writeAddresses(ctx, service, given{}); err != nil {
			return err
		}
	}
	for _, p := range s.options.allParts(service) {
		lb, err := s.getLive(ctx, p.name)
		if err != nil {
			return err
		}
		if err := s.deleteOwned(ctx, service, lb); err != nil {
			return err
		}
	}
	return nil
}

// deleteOwned deletes a LoadBalancer if it belongs to the Service. lb may be nil.
func (s *Services) deleteOwned(ctx context.Context, service *corev1.Service, lb *lbv1.LoadBalancer) error {
	owner, err := s.clusterUID(ctx)
	if err != nil || lb == nil || lb.DeletionTimestamp != nil || s.options.foreign(service, lb, owner) != nil {
		return err
	}
	return s.deleteLoadBalancer(ctx, lb)
}

// deleteLoadBalancer deletes a LoadBalancer by UID, but not a new one of the same name.
func (s *Services) deleteLoadBalancer(ctx context.Context, lb *lbv1.LoadBalancer) error {
	err := s.harvester.Delete(ctx, lb, client.Preconditions{UID: &lb.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting LoadBalancer %s/%s on Harvester: %w", lb.Namespace, lb.Name, err)
	}
	return nil
}

// getLive reads a LoadBalancer from the API server, or returns nil.
func (s *Services) getLive(ctx context.Context, name string) (*lbv1.LoadBalancer, error) {
	lb := &lbv1.LoadBalancer{}
	err := s.harvester.Get(ctx, client.ObjectKey{Namespace: s.harvester.Namespace(), Name: name}, lb)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LoadBalancer %s/%s on Harvester: %w", s.harvester.Namespace(), name, err)
	}
	return lb, nil
}

// ensure reconciles the addresses of a Service. It returns a waitError if it must wait.
func (s *Services) ensure(ctx context.Context, service *corev1.Service) error {
	primary, err := primaryOf(service)
	if err != nil {
		return err
	}
	if primary.Name != "" {
		return s.ensureShared(ctx, service, primary)
	}
	var addresses []string
	var missing error
	for n, p := range s.options.neededParts(service) {
		address, err := s.allocate(ctx, service, p)
		if n > 0 && toleratesMissing(service, p, err) {
			missing = missingError(p, err)
			break
		}
		if err != nil {
			return err
		}
		addresses = append(addresses, address)
	}
	nic, err := s.nic(ctx, service)
	if err != nil {
		return err
	}
	if err := s.writeAddresses(ctx, service, given{addresses: addresses, nic: nic}); err != nil {
		return err
	}
	if err := s.deleteUnused(ctx, keyOf(service), service, s.options.neededParts); err != nil {
		return err
	}
	return missing
}

// allocate returns an address of a Service, or a waitError.
func (s *Services) allocate(ctx context.Context, service *corev1.Service, p part) (string, error) {
	lb, err := s.reconcileLoadBalancer(ctx, service, p)
	if err != nil {
		return "", err
	}
	if lb.DeletionTimestamp != nil {
		return "", &waitError{what: fmt.Sprintf("LoadBalancer %s/%s on Harvester is being deleted", lb.Namespace, lb.Name)}
	}
	address, err := allocated(lb, p)
	if err == nil && address == "" {
		err = pending(lb)
	}
	return address, err
}

// waitError reports what a Service waits for.
type waitError struct {
	what string
	// stuck is set if the user must act.
	stuck bool
	// reason is the reason of the event; "" for WaitingForAddress.
	reason string
}

// Error returns a message for the user.
func (e *waitError) Error() string { return e.what }

// reconcileLoadBalancer creates or updates the LoadBalancer of a part, and returns it.
func (s *Services) reconcileLoadBalancer(ctx context.Context, service *corev1.Service, p part) (*lbv1.LoadBalancer, error) {
	owner, err := s.clusterUID(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.harvester.Balancers(ctx, s.options.labels(service))
	if err != nil {
		return nil, err
	}
	lb := named(all, p.name)
	if lb == nil || lb.Status.AllocatedAddress.IP == "" {
		// The cache may be stale.
		if lb, err = s.getLive(ctx, p.name); err != nil {
			return nil, err
		}
	}
	err = retry.OnError(retry.DefaultRetry, stale, func() error {
		var problem error
		if lb, problem = s.update(ctx, service, p, lb, owner); stale(problem) {
			if current, err := s.getLive(ctx, p.name); err == nil {
				lb = current
			}
		}
		return problem
	})
	return lb, err
}

func stale(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// update writes a LoadBalancer if it is not up to date.
func (s *Services) update(ctx context.Context, service *corev1.Service, p part, lb *lbv1.LoadBalancer, owner string) (*lbv1.LoadBalancer, error) {
	if lb != nil {
		if err := s.options.foreign(service, lb, owner); err != nil {
			return lb, err
		}
	}
	if err := check(service, lb); err != nil {
		return lb, err
	}
	wanted := s.options.wanted(service, p, lb, owner)
	if lb == nil {
		return s.create(ctx, wanted, owner)
	}
	if lb.DeletionTimestamp != nil || !needsUpdate(lb, wanted) {
		return lb, nil
	}
	if err := s.balancers.Write(ctx, onHarvester{s.harvester, wanted}, lb, wanted); err != nil {
		return lb, fmt.Errorf("updating LoadBalancer %s/%s on Harvester: %w", lb.Namespace, lb.Name, err)
	}
	return wanted, nil
}

func (s *Services) create(ctx context.Context, lb *lbv1.LoadBalancer, owner string) (*lbv1.LoadBalancer, error) {
	all, err := s.harvester.Balancers(ctx, client.MatchingLabels{lbv1.GuestClusterLabel: s.options.Cluster})
	if err != nil {
		return nil, err
	}
	if err := s.options.namesake(all, owner); err != nil {
		return nil, err
	}
	lb.Namespace = s.harvester.Namespace()
	annotate(lb, lbv1.NamespaceAnnotation, lb.Namespace)
	if err := s.harvester.Create(ctx, lb); err != nil {
		return nil, fmt.Errorf("creating LoadBalancer %s/%s on Harvester: %w", lb.Namespace, lb.Name, err)
	}
	return lb, nil
}

// named returns the LoadBalancer of the name, or nil.
func named(all []lbv1.LoadBalancer, name string) *lbv1.LoadBalancer {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// clusterUID returns the UID of this guest cluster.
func (s *Services) clusterUID(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != "" {
		return s.owner, nil
	}
	system, err := s.guest.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the UID of this cluster: %w", err)
	}
	if system.UID == "" {
		return "", errors.New("reading the UID of this cluster: namespace kube-system has no UID")
	}
	s.owner = string(system.UID)
	return s.owner, nil
}
