// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/plane"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// racks are the failure domains of a yard.
const racks = 5

func metal3Kinds(scheme *runtime.Scheme) error {
	return errors.Join(simulator.AddToScheme(scheme), infrav1.AddToScheme(scheme))
}

// hostKinds are the CRDs of the bare-metal operator and of the address manager.
func hostKinds() ([]*unstructured.Unstructured, error) {
	crds, err := simulator.CRDs()
	if err != nil {
		return nil, err
	}
	return plane.Untyped(crds)
}

// yard is a number of hosts in racks and a cluster on them, in a namespace of its
// own. Its hosts do nothing before work is called.
type yard struct {
	lab   *lab
	name  string // of the namespace and of the cluster
	racks simulator.Layout
	owner metav1.OwnerReference // the Cluster
}

// yard makes so many hosts, which are available, and a cluster without machines.
func (l *lab) yard(ctx context.Context, name string, hosts int) (*yard, error) {
	y := &yard{lab: l, name: name, racks: simulator.Racks(racks, hosts/racks)}
	for i := range hosts % racks {
		y.racks.Domains[i].Hosts++
	}
	y.racks.Ready = true
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := l.client.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("creating the namespace: %w", err)
	}
	if err := simulator.Create(ctx, l.client, name, y.racks); err != nil {
		return nil, err
	}
	if err := y.makeCluster(ctx); err != nil {
		return nil, err
	}
	return y, y.published(ctx)
}

// calls are none: hosts are objects of the Kubernetes API.
func (*yard) calls() Counts { return nil }

func (y *yard) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: y.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: y.name}}
}

// makeCluster leaves the Cluster as Cluster API does when its infrastructure is
// provisioned.
func (y *yard) makeCluster(ctx context.Context) error {
	endpoint := clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
	cluster := &clusterv1.Cluster{ObjectMeta: y.meta(y.name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: reference("Metal3Cluster", y.name), ControlPlaneEndpoint: endpoint,
	}}
	if err := y.lab.client.Create(ctx, cluster); err != nil {
		return fmt.Errorf("creating Cluster %s: %w", y.name, err)
	}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := y.lab.client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("provisioning Cluster %s: %w", y.name, err)
	}
	y.owner = metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: y.name, UID: cluster.UID}
	infra := &infrav1.Metal3Cluster{ObjectMeta: y.meta(y.name), Spec: infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: endpoint.Host, Port: endpoint.Port},
	}}
	infra.OwnerReferences = []metav1.OwnerReference{y.owner}
	for _, rack := range y.racks.Domains {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: rack.Name, ControlPlane: new(true)})
	}
	if err := y.lab.client.Create(ctx, infra); err != nil {
		return fmt.Errorf("creating Metal3Cluster %s: %w", y.name, err)
	}
	return nil
}

// published waits until the manager has counted all hosts as free.
func (y *yard) published(ctx context.Context) error {
	infra := &infrav1.Metal3Cluster{}
	missing := func(rack simulator.Domain) bool {
		return !slices.ContainsFunc(infra.Status.FailureDomains, func(domain clusterv1.FailureDomain) bool {
			return domain.Name == rack.Name && domain.Attributes["freeHosts"] == strconv.Itoa(rack.Hosts)
		})
	}
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (bool, error) {
		err := y.lab.client.Get(ctx, client.ObjectKey{Namespace: y.name, Name: y.name}, infra)
		return err == nil && !slices.ContainsFunc(y.racks.Domains, missing), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the failure domains: %w%s", because(ctx, err), explain(infra.Status.Conditions))
	}
	return nil
}

// prepare makes n Machines with bootstrap data, spread over the racks, and answers
// their Metal3Machines, which are still to be created. There is no workload cluster:
// a Machine without a bootstrap configuration does not wait for its Node.
func (y *yard) prepare(ctx context.Context, n int) ([]*infrav1.Metal3Machine, error) {
	made := make([]*infrav1.Metal3Machine, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(createAtOnce)
	for i := range made {
		group.Go(func() (err error) {
			made[i], err = y.prepareOne(ctx, fmt.Sprintf("%s-%04d", y.name, i), y.racks.Domains[i%racks].Name)
			return err
		})
	}
	return made, group.Wait()
}

func (y *yard) prepareOne(ctx context.Context, name, rack string) (*infrav1.Metal3Machine, error) {
	machine := &clusterv1.Machine{ObjectMeta: y.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: y.name, FailureDomain: rack, InfrastructureRef: reference("Metal3Machine", name),
		Bootstrap: clusterv1.Bootstrap{DataSecretName: &name},
	}}
	machine.OwnerReferences = []metav1.OwnerReference{y.owner}
	data := &corev1.Secret{ObjectMeta: y.meta(name), StringData: map[string]string{"value": "#cloud-config\n", "format": "cloud-config"}}
	for _, object := range []client.Object{data, machine} {
		if err := y.lab.client.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("creating %T %s: %w", object, name, err)
		}
	}
	metal3 := &infrav1.Metal3Machine{ObjectMeta: y.meta(name), Spec: infrav1.Metal3MachineSpec{
		Image: infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: strings.Repeat("0", 64)},
	}}
	metal3.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID, Controller: new(true),
	}}
	return metal3, nil
}

// await answers how long it takes each machine from now until it is done.
func (y *yard) await(ctx context.Context, all []*infrav1.Metal3Machine, done func(*infrav1.Metal3Machine) bool) (map[string]time.Time, error) {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.Name)
	}
	w := newWaiting(names, done)
	err := await(ctx, y.lab.client, &infrav1.Metal3MachineList{}, y.name, w)
	return w.seen, err
}

func associated(machine *infrav1.Metal3Machine) bool {
	return conditions.IsTrue(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)
}

func provisioned(machine *infrav1.Metal3Machine) bool {
	done := machine.Status.Initialization.Provisioned
	return done != nil && *done
}

// associate creates the Metal3Machines and answers the seconds it took each of them
// from its creation to a host of its own.
func (y *yard) associate(ctx context.Context, all []*infrav1.Metal3Machine) (took time.Duration, each []float64, err error) {
	began := time.Now()
	var seen map[string]time.Time
	created := make([]time.Time, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(createAtOnce + 1)
	group.Go(func() (err error) {
		seen, err = y.await(groupCtx, all, associated)
		return err
	})
	for i, machine := range all {
		group.Go(func() error {
			created[i] = time.Now()
			return y.lab.client.Create(groupCtx, machine)
		})
	}
	if err := group.Wait(); err != nil {
		return 0, nil, err
	}
	took = time.Since(began)
	for i, machine := range all {
		each = append(each, seen[machine.Name].Sub(created[i]).Seconds())
	}
	return took, each, y.check(ctx, all)
}

// check makes sure that each machine has one host, in its rack.
func (y *yard) check(ctx context.Context, all []*infrav1.Metal3Machine) error {
	placements, err := simulator.Placements(ctx, y.lab.client, y.name)
	if err != nil {
		return err
	}
	racksOf := map[string][]string{}
	for _, p := range placements {
		if p.Consumer != "" {
			racksOf[p.Consumer] = append(racksOf[p.Consumer], p.Domain)
		}
	}
	for i, machine := range all {
		if want := y.racks.Domains[i%racks].Name; !slices.Equal(racksOf[machine.Name], []string{want}) {
			return fmt.Errorf("checking placement: machine %s has hosts in %v, not one in %s", machine.Name, racksOf[machine.Name], want)
		}
	}
	return nil
}

// work lets the hosts do what they are told, in no time, until the lab is closed.
func (y *yard) work(ctx context.Context) {
	operator := simulator.New(simulator.WithNamespace(y.name), simulator.WithoutEvents())
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := operator.Run(ctx, y.lab.plane.RESTConfig); err != nil {
			y.lab.bench.progressf("%s: simulating hosts: %v", y.lab.name, err)
		}
	}()
	y.lab.closers = append(y.lab.closers, func() { stop(); <-ended })
}
