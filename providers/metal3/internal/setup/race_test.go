// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// history records every consumer that every host has had, from a watch of the API server.
type history struct {
	mu     sync.Mutex
	owners map[string][]string // by host, in order, "" for none
	watch  watch.Interface
	done   chan struct{}
}

func (f *fixture) recordOwners() *history {
	f.t.Helper()
	l := &history{owners: map[string][]string{}, done: make(chan struct{})}
	var err error
	l.watch, err = f.client.Watch(f.t.Context(), &bmov1alpha1.BareMetalHostList{}, client.InNamespace(f.name))
	f.Expect(err).NotTo(HaveOccurred())
	go func() {
		defer close(l.done)
		for event := range l.watch.ResultChan() {
			if host, ok := event.Object.(*bmov1alpha1.BareMetalHost); ok {
				l.record(host)
			}
		}
	}()
	return l
}

func (l *history) record(host *bmov1alpha1.BareMetalHost) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owner := ""
	if host.Spec.ConsumerRef != nil {
		owner = host.Spec.ConsumerRef.Name
	}
	history := l.owners[host.Name]
	if len(history) == 0 || history[len(history)-1] != owner {
		l.owners[host.Name] = append(history, owner)
	}
}

// close ends the watch and returns the recorded consumers.
func (l *history) close() map[string][]string {
	l.watch.Stop()
	<-l.done
	return l.owners
}

// Two managers, each with its own machines, compete for the same hosts. Each host changes from no consumer to one machine, and
// never from one machine to another; no machine ever has two hosts.
func TestTwoManagersDoNotShareHosts(t *testing.T) {
	t.Parallel()
	const hosts = 80
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(5, hosts/5))
	owners := f.recordOwners()
	racks := []string{"rack-1", "rack-2", "rack-3", "rack-4", "rack-5"}
	var machines []*infrav1.Metal3Machine
	managers := []string{f.name + "-a", f.name + "-b"}
	for _, filter := range managers {
		cluster := "cluster-" + filter[len(filter)-1:]
		f.clusterWith(cluster, func(infra *infrav1.Metal3Cluster) { infra.Labels[clusterv1.WatchLabel] = filter }, racks...)
		for i := range hosts * 6 / 10 { // together they need more hosts than exist
			machines = append(machines, f.machine(cluster, fmt.Sprintf("%s-%03d", cluster, i), racks[i%5], func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
				metal3.Labels[clusterv1.WatchLabel] = filter
			}))
		}
	}
	for _, filter := range managers {
		f.manage(filter)
	}
	// left returns the hosts without a consumer, with their state: a host that is not available is a different failure than one
	// that no machine asks for.
	left := func() []simulator.Placement {
		placements, err := simulator.Placements(t.Context(), f.client, f.name)
		f.Expect(err).NotTo(HaveOccurred())
		return slices.DeleteFunc(placements, func(p simulator.Placement) bool { return p.Consumer != "" })
	}
	// Two managers that compete for every host are slow on two cores shared with other tests.
	f.SetDefaultEventuallyTimeout(5 * time.Minute)
	f.Eventually(left).Should(BeEmpty(), f.countWaiting("every host is taken"))
	// Deletes some machines, so that hosts change their consumers under the two managers.
	for _, machine := range machines {
		f.get(machine)
	}
	for i, machine := range machines {
		if i%4 == 0 {
			f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
		}
	}
	f.Eventually(func() int {
		list := &infrav1.Metal3MachineList{}
		f.Expect(f.client.List(t.Context(), list, client.InNamespace(f.name))).To(Succeed())
		return len(list.Items)
	}).Should(Equal(len(machines)*3/4), f.countWaiting("those that are deleted go"))
	f.Eventually(left).Should(HaveLen(hosts-len(machines)*3/4), f.countWaiting("all that are left have one now"))
	checkOwners(f, owners.close())
}

// countWaiting returns, when an assertion fails, the messages of machines without a host and of machines being deleted.
func (f *fixture) countWaiting(expected string) func() string {
	return func() string {
		list := &infrav1.Metal3MachineList{}
		f.Expect(f.client.List(f.t.Context(), list, client.InNamespace(f.name))).To(Succeed())
		said := []string{expected}
		for i := range list.Items {
			metal3 := &list.Items[i]
			if condition := conditions.Get(metal3, infrav1.Metal3MachineAssociateBareMetalHostCondition); condition == nil || condition.Status != metav1.ConditionTrue ||
				!metal3.DeletionTimestamp.IsZero() {
				said = append(said, fmt.Sprintf("%s deleted %v, wants %s, has %q: %v", metal3.Name, metal3.DeletionTimestamp, metal3.Spec.FailureDomain,
					metal3.Annotations[infrav1.HostAnnotation], metal3.Status.Conditions))
			}
		}
		return strings.Join(said, "\n")
	}
}

func checkOwners(f *fixture, histories map[string][]string) {
	f.t.Helper()
	hostOf := map[string]string{}
	for host, history := range histories {
		for i, owner := range history {
			if owner == "" {
				continue
			}
			f.Expect(i == 0 || history[i-1] == "").To(BeTrue(), "%s went from %s to %s", host, history[max(i-1, 0)], owner)
			other, twice := hostOf[owner]
			f.Expect(twice).To(BeFalse(), "%s had %s and %s", owner, other, host)
			hostOf[owner] = host
		}
	}
}
