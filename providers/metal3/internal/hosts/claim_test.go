// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

// fixture is a set of hosts 1 and 2. Writes of host 1 fail with claimError unless it is nil.
type fixture struct {
	*WithT
	*hosts.Hosts
	clock      *clocktesting.FakeClock
	claimError error
	// strips changes what the API server stores of a write; it may be nil.
	strips func(*bmov1alpha1.BareMetalHost)
	// sent is the number of writes of hosts.
	sent int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{WithT: NewWithT(t), clock: clocktesting.NewFakeClock(time.Now())}
	scheme := runtime.NewScheme()
	s.Expect(bmov1alpha1.AddToScheme(scheme)).To(Succeed())
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if obj.GetName() == "1" && s.claimError != nil {
				return s.claimError
			}
			s.sent++
			host := obj.DeepCopyObject().(*bmov1alpha1.BareMetalHost)
			if err := c.Patch(ctx, host, p, opts...); err != nil {
				return err
			}
			if s.strips != nil {
				before := host.DeepCopy()
				s.strips(host)
				if err := c.Patch(ctx, host, client.MergeFrom(before)); err != nil {
					return err
				}
			}
			answer, err := json.Marshal(host)
			return errors.Join(err, json.Unmarshal(answer, obj)) // as a real client does: fields not in the response keep their value
		},
	}).Build()
	s.Hosts = &hosts.Hosts{Client: c, Live: c, Inventory: hosts.NewInventory(func(types.NamespacedName) {}), Clock: s.clock}
	for _, name := range []string{"1", "2"} {
		host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		host.Status.Provisioning.State = bmov1alpha1.StateAvailable
		s.Expect(c.Create(t.Context(), host)).To(Succeed())
		s.Inventory.Upsert(hosts.Observe(host))
	}
	return s
}

// claim makes a machine ask for a host and claim it.
func (s *fixture) claim(t *testing.T, name string) (string, error) {
	t.Helper()
	chosen, _, _ := s.Reserve(wants(name, ""))
	_, err := s.Claim(t.Context(), chosen, hosts.Claim{Machine: &metav1.ObjectMeta{Namespace: "ns", Name: name}})
	return chosen.Name, err
}

func TestRefusedHostIsNotRetriedForAWhile(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.claimError = apierrors.NewForbidden(schema.GroupResource{Resource: "baremetalhosts"}, "1", errors.New("not valid"))
	host, err := s.claim(t, "first")
	s.Expect(host).To(Equal("1"))
	s.Expect(err).To(MatchError(hosts.ErrRefused))
	chosen, _, _ := s.Reserve(wants("first", ""))
	s.Expect(chosen.Name).To(Equal("2"), "the next one")
	another, _, _ := s.Reserve(wants("second", ""))
	s.Expect(another.Name).To(Equal("1"), "it is offered to others")
	s.Inventory.Forget(machine("second"))

	s.clock.Step(2 * time.Minute)
	chosen, _, _ = s.Reserve(wants("first", ""))
	s.Expect(chosen.Name).To(Equal("1"), "a changed policy triggers no event")
}

func TestChangedHostIsRetriedAfterRefusal(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.claimError = apierrors.NewForbidden(schema.GroupResource{Resource: "baremetalhosts"}, "1", errors.New("not valid"))
	_, err := s.claim(t, "first")
	s.Expect(err).To(MatchError(hosts.ErrRefused))
	host := &bmov1alpha1.BareMetalHost{}
	s.Expect(s.Client.Get(t.Context(), machine("1"), host)).To(Succeed())
	s.Expect(s.Client.Update(t.Context(), host)).To(Succeed())
	s.Inventory.Upsert(hosts.Observe(host))
	chosen, _, _ := s.Reserve(wants("first", ""))
	s.Expect(chosen.Name).To(Equal("1"))
}

func TestHostIsOfferedToOthersDuringBackoff(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.claimError = apierrors.NewInternalError(errors.New("etcd is away"))
	_, err := s.claim(t, "first")
	s.Expect(err).To(MatchError(ContainSubstring("etcd is away")))
	s.claimError = nil
	s.Expect(s.claim(t, "second")).To(Equal("1"))
}

// stored returns a host as the API server has it.
func (s *fixture) stored(t *testing.T, name string) *bmov1alpha1.BareMetalHost {
	t.Helper()
	host := &bmov1alpha1.BareMetalHost{}
	s.Expect(s.Client.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}, host)).To(Succeed())
	return host
}

func TestAClaimWhoseLabelsAreRemovedByAPolicyIsReportedAndHolds(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.strips = func(host *bmov1alpha1.BareMetalHost) { host.Labels, host.Annotations = nil, nil }
	chosen, _, _ := s.Reserve(wants("first", ""))
	host, err := s.Claim(t.Context(), chosen, hosts.Claim{Machine: &metav1.ObjectMeta{Namespace: "ns", Name: "first"}, Cluster: "c"})
	s.Expect(err).To(MatchError(And(ContainSubstring("does not store the annotation clusterctl.cluster.x-k8s.io/block-move"),
		ContainSubstring("label cluster.x-k8s.io/cluster-name of BareMetalHost 1"))))
	s.Expect(host.Labels).To(BeEmpty(), "what is stored")
	s.Expect(hosts.BelongsTo(s.stored(t, "1"), machine("first"))).To(BeTrue())
	s.Expect(s.Inventory.HeldBy(machine("first"))).To(ConsistOf("1"))
}

func TestAHostWhoseConsumerIsRemovedByAPolicyIsSetAside(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.strips = func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = nil }
	_, err := s.claim(t, "first")
	s.Expect(err).To(MatchError(hosts.ErrRefused))
	s.Expect(err).To(MatchError(ContainSubstring("spec.consumerRef")))
	chosen, _, _ := s.Reserve(wants("first", ""))
	s.Expect(chosen.Name).To(Equal("2"), "the next one")
}

func TestAPauseThatAPolicyRemovesBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes between the attempts
		s := newFixture(t)
		s.strips = func(host *bmov1alpha1.BareMetalHost) { host.Annotations = nil }
		for range 10 {
			s.Expect(s.Pause(t.Context(), s.stored(t, "1"))).To(MatchError(ContainSubstring("does not store the annotation " + bmov1alpha1.PausedAnnotation)))
		}
		s.Expect(s.sent).To(Equal(1), "pauses between writes grow")
	})
}

func TestARestartThatTheOperatorHasActedOnCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for range 5 {
		s.Expect(s.Restart(t.Context(), s.stored(t, "1"))).To(Succeed())
		host := s.stored(t, "1")
		s.Expect(host.Annotations).To(HaveKey(bmov1alpha1.RebootAnnotationPrefix))
		host.Annotations = nil
		s.Expect(s.Client.Update(t.Context(), host)).To(Succeed())
	}
}

func TestANewMachineOnAReleasedHostIsNotTakenForARevert(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for range 5 {
		chosen, _, _ := s.Reserve(wants("first", ""))
		host, err := s.Claim(t.Context(), chosen, hosts.Claim{Machine: &metav1.ObjectMeta{Namespace: "ns", Name: "first"}, Cluster: "c"})
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(s.Release(t.Context(), host, hosts.ReleaseOptions{Machine: "first", Failed: true})).To(Succeed())
	}
}
