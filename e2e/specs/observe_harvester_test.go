//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/harvester"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// harvesterObserver observes clusters on a Harvester.
type harvesterObserver struct{ outside }

// poolTimeout bounds the deletion of pools of earlier runs.
const poolTimeout = time.Minute

// Prepare creates a pool for the namespace on Harvester. Its only address is the control-plane endpoint of the next cluster, which the
// load balancer serves.
func (o harvesterObserver) Prepare(ctx context.Context, namespace string) (variables map[string]string, err error) {
	reached, err := o.harvester()
	if err != nil {
		return nil, err
	}
	address := o.Endpoint()
	pool := simulator.Pool(namespace, address+"/32", address, address)
	var last error
	err = wait.PollUntilContextTimeout(ctx, provider.PollInterval, poolTimeout, true, func(ctx context.Context) (bool, error) {
		if last = deletePools(ctx, reached, namespace, address); last == nil {
			last = client.IgnoreAlreadyExists(reached.Create(ctx, pool.DeepCopy()))
		}
		return last == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("making pool %s on Harvester: %w", namespace, cmp.Or(last, err))
	}
	return map[string]string{"LOAD_BALANCER_IPAM": "pool", "IP_POOL_NAME": namespace}, nil
}

// harvester returns a client with the access that templates have.
func (o harvesterObserver) harvester() (client.Client, error) {
	config, err := harvesterConfig(o.Variables())
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := simulator.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building scheme: %w", err)
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// deletePools deletes pools of earlier runs with an address, because two pools cannot have it.
func deletePools(ctx context.Context, reached client.Client, namespace, address string) error {
	pools := &lbv1.IPPoolList{}
	if err := reached.List(ctx, pools); err != nil {
		return fmt.Errorf("listing pools on Harvester: %w", err)
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		if pool.Name == namespace || len(pool.Spec.Ranges) != 1 || pool.Spec.Ranges[0].RangeStart != address {
			continue
		}
		if err := client.IgnoreNotFound(reached.Delete(ctx, pool)); err != nil {
			return fmt.Errorf("removing pool %s of an earlier run from Harvester: %w", pool.Name, err)
		}
	}
	return nil
}

// harvesterConfig returns administrator access to the Harvester in variables of cluster templates.
func harvesterConfig(variables map[string]string) (*rest.Config, error) {
	kubeconfig, err := base64.StdEncoding.DecodeString(variables["HARVESTER_KUBECONFIG_B64"])
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig for Harvester: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig for Harvester: %w", err)
	}
	return config, nil
}

func (o harvesterObserver) SetDomains(ctx context.Context, key client.ObjectKey, names []string) error {
	return o.change(ctx, key, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.FailureDomains = nil
		for _, name := range names {
			cluster.Spec.FailureDomains = append(cluster.Spec.FailureDomains, infrav1.HarvesterFailureDomain{Name: name})
		}
	})
}

func (o harvesterObserver) change(ctx context.Context, key client.ObjectKey, change func(*infrav1.HarvesterCluster)) error {
	cluster := &infrav1.HarvesterCluster{}
	if err := o.Client().Get(ctx, key, cluster); err != nil {
		return err
	}
	change(cluster)
	return o.Client().Update(ctx, cluster)
}

// ofCluster calls look for each virtual machine of a cluster, which has the name of its namespace, with the name of its machine.
func (o harvesterObserver) ofCluster(ctx context.Context, cluster string, look func(f *harvester.Objects, machine string, vm *kubevirtv1.VirtualMachine)) error {
	reached, err := o.harvester()
	if err != nil {
		return err
	}
	found, err := harvester.ListObjects(ctx, reached)
	if err != nil {
		return err
	}
	for i := range found.VMs.Items {
		vm := &found.VMs.Items[i]
		if namespace, machine, ok := infrav1.ParseOwner(vm.Annotations[infrav1.OwnerAnnotation]); ok && namespace == cluster {
			look(found, machine, vm)
		}
	}
	return nil
}

func (o harvesterObserver) Places(ctx context.Context, cluster string) (map[string]string, error) {
	places := map[string]string{}
	err := o.ofCluster(ctx, cluster, func(f *harvester.Objects, machine string, vm *kubevirtv1.VirtualMachine) {
		places[machine] = f.Placement(vm).Domain
	})
	return places, err
}

// harvesterMachine holds the properties that identify a virtual machine, and change if it is restarted or replaced.
type harvesterMachine struct {
	VM, Instance string // UIDs
	Host         string
	Phase        kubevirtv1.VirtualMachineInstancePhase
	Labels       map[string]string
	Generation   int64
	Interfaces   []kubevirtv1.VirtualMachineInstanceNetworkInterface
	Deleting     bool
}

func (o harvesterObserver) Machines(ctx context.Context, cluster string) (map[string]any, error) {
	machines := map[string]any{}
	err := o.ofCluster(ctx, cluster, func(f *harvester.Objects, name string, vm *kubevirtv1.VirtualMachine) {
		is := harvesterMachine{VM: string(vm.UID), Labels: vm.Labels, Generation: vm.Generation, Deleting: vm.DeletionTimestamp != nil}
		at := slices.IndexFunc(f.VMIs.Items, func(vmi kubevirtv1.VirtualMachineInstance) bool {
			return vmi.Namespace == vm.Namespace && vmi.Name == vm.Name
		})
		if at >= 0 {
			instance := &f.VMIs.Items[at]
			is.Instance, is.Host, is.Phase, is.Interfaces = string(instance.UID), instance.Status.NodeName, instance.Status.Phase, instance.Status.Interfaces
		}
		machines[name] = is
	})
	return machines, err
}

// SetBroken cordons the hosts of a zone, as an administrator does before maintenance.
func (o harvesterObserver) SetBroken(ctx context.Context, domain string, broken bool) error {
	reached, err := o.harvester()
	if err != nil {
		return err
	}
	hosts := &corev1.NodeList{}
	if err := reached.List(ctx, hosts, client.MatchingLabels{corev1.LabelTopologyZone: domain}); err != nil {
		return err
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		before := host.DeepCopy()
		host.Spec.Unschedulable = broken
		if err := reached.Patch(ctx, host, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("cordoning host %s: %w", host.Name, err)
		}
	}
	return nil
}
