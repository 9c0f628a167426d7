// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// anywhere returns the placement of the tests without a datastore.
func anywhere() vcenter.Placement {
	p := placement()
	p.Datastore = ""
	return p
}

func kept(policy string, machine int) vcenter.Kept {
	return vcenter.Kept{Policy: policy, Machine: uuid(machine), SizeGiB: 10}
}

// named returns the name of a datastore.
func (r *rig) named(s *vcenter.Session, ref string) string {
	r.t.Helper()
	p := placement()
	p.Datastore = ref
	resolved, err := s.Resolve(p)
	if err != nil {
		r.t.Fatal(err)
	}
	spec := cloneSpec(r.t, s, 99)
	spec.Name, spec.Placement, spec.InstanceUUID = "probe-"+strings.ToLower(strings.ReplaceAll(ref, ":", "-")), resolved, ""
	task, err := s.CloneVM(r.t.Context(), spec)
	if done := finish(r.t, s, task, err); done.Err != nil {
		r.t.Fatal(done.Err)
	}
	vm, _ := r.server.VM(spec.Name)
	return vm.Datastore
}

func (r *rig) free(gib map[string]int64) {
	r.t.Helper()
	for datastore, free := range gib {
		if err := r.server.SetFreeSpace("dc-1", datastore, free); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestPolicyDatastoreHasMostFreeSpace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	r.free(map[string]int64{"datastore-a": 1000, "datastore-b": 1000, "fast-1": 100, "fast-2": 125})
	at := map[string]int{}
	var refs []string
	for i := range 5 {
		_, ref, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", i))
		g.Expect(err).NotTo(HaveOccurred())
		refs = append(refs, ref)
		at[ref]++
	}
	g.Expect(r.named(s, refs[0])).To(Equal("fast-2"), "datastore-a has more, and is not of the policy; datastore-b is not mounted in zone-a")
	g.Expect(refs[1]).To(Equal(refs[0]), "15 more than what the first machine takes")
	g.Expect(at).To(HaveLen(2), "machines that start together account for each other's space")
	again := make([]string, len(refs))
	for i := range again {
		_, again[i], _ = s.DatastoreOf(t.Context(), anywhere(), kept("fast", i))
	}
	g.Expect(again).To(Equal(refs), "the same machine gets the same answer")
}

func TestDeletedDatastoreIsNotChosen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	r.free(map[string]int64{"fast-1": 100, "fast-2": 1000})
	_, first, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.server.RemoveDatastore("dc-1", "fast-2")).To(Succeed())
	eventually(t, func() error {
		_, now, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
		if err == nil && now == first {
			return fmt.Errorf("it is still chosen")
		}
		return err
	})
	g.Expect(r.server.RemoveDatastore("dc-1", "fast-1")).To(Succeed())
	eventually(t, func() error {
		if _, _, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1)); !errors.Is(err, vcenter.ErrInvalid) {
			return fmt.Errorf("have %w, although the policy has no datastore left there", err)
		}
		return nil
	})
}

func TestPolicyCalls(t *testing.T) {
	t.Parallel()
	vcenter.SkipWithStock(t, "is so slow that tasks are asked for, and reads cannot be counted")
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	asked := func() map[string]int {
		calls := map[string]int{}
		for _, method := range []string{
			"PbmRetrieveServiceContent", "PbmQueryProfile", "PbmRetrieveContent", "PbmCheckRequirements", "RetrievePropertiesEx", "ListKmipServers",
		} {
			if n := r.called(method); n > 0 {
				calls[method] = n
			}
		}
		return calls
	}
	clone(t, s, cloneSpec(t, s, 1))
	g.Expect(asked()).To(Equal(map[string]int{"RetrievePropertiesEx": 1}), "a machine without a policy reads its template, and nothing else")

	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := inTurn(func() (string, error) {
				_, ref, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", i))
				return ref, err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	bounds := map[string]int{
		"PbmRetrieveServiceContent": 1, "PbmQueryProfile": 1, "PbmRetrieveContent": 1, "PbmCheckRequirements": 1, "RetrievePropertiesEx": 2,
	}
	g.Expect(asked()).To(Equal(bounds), "five calls for all machines of a policy and a place")

	_, _, err := s.DatastoreOf(t.Context(), placement(), kept("secret", 1))
	g.Expect(err).NotTo(HaveOccurred())
	bounds["PbmCheckRequirements"]++
	g.Expect(asked()).To(Equal(bounds), "one more for another policy with a named datastore")
}

func TestIncompatibleDatastore(t *testing.T) {
	t.Parallel()
	r := newRig(t, storageLayout())
	s := r.session()
	for name, test := range map[string]struct {
		datastore, policy string
		err               error
		text              []string
	}{
		"named and of the policy":  {"fast-1", "fast", nil, nil},
		"named and of another":     {"datastore-a", "fast", vcenter.ErrInvalid, []string{`storagePolicyName "fast"`, "/dc-1/datastore/datastore-a is not compatible: Datastore does not satisfy the rules of fast.", "remove datastore"}},
		"none at the place":        {"", "slow", vcenter.ErrInvalid, []string{`storagePolicyName "slow"`, "no compatible datastore", "/dc-1/datastore/fast-1 is not compatible", "use another policy"}},
		"no such datastore":        {"nowhere", "fast", vcenter.ErrNotFound, []string{`datastore "nowhere"`}},
		"no such policy":           {"", "gold", vcenter.ErrNotFound, []string{`storagePolicyName "gold": not found: use one of fast, secret, slow`}},
		"no such policy, by place": {"fast-1", "gold", vcenter.ErrNotFound, []string{`storagePolicyName "gold": not found`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := anywhere()
			p.Datastore = test.datastore
			_, ref, err := s.DatastoreOf(t.Context(), p, kept(test.policy, 1))
			if test.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(ref).NotTo(BeEmpty())
				return
			}
			g.Expect(err).To(MatchError(test.err))
			for _, text := range test.text {
				g.Expect(err).To(MatchError(ContainSubstring(text)))
			}
		})
	}
}

func TestRecreatedPolicyIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	before, _, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
	g.Expect(err).NotTo(HaveOccurred())
	r.server.AddPolicy(simulator.StoragePolicy{Name: "fast", Datastores: []string{"datastore-b"}})
	p := anywhere()
	p.ComputeCluster = "zone-b"
	after, _, err := s.DatastoreOf(t.Context(), p, kept("fast", 2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).NotTo(Equal(before))

	_, _, err = s.DatastoreOf(t.Context(), anywhere(), kept("gold", 3))
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
	r.server.AddPolicy(simulator.StoragePolicy{Name: "gold", Datastores: []string{"fast-1"}})
	eventually(t, func() error {
		_, _, err := s.DatastoreOf(t.Context(), anywhere(), kept("gold", 3))
		return err
	})
}

func TestPolicyServiceFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		breaks func(*simulator.Server)
		err    error
		text   string
	}{
		"the account may not see policies": {func(s *simulator.Server) { s.SetPolicyAccess(false) }, vcenter.ErrForbidden, "privilege StorageProfile.View on the vCenter itself is required"},
		"there are none": {func(s *simulator.Server) {
			for _, policy := range storageLayout().Policies {
				s.RemovePolicy(policy.Name)
			}
		}, vcenter.ErrNotFound, "vCenter shows no policies to this account"},
		"it is not there":               {func(s *simulator.Server) { s.OverloadCalls("PbmRetrieveServiceContent", -1) }, vcenter.ErrUnavailable, "storage policy service"},
		"it fails when asked for names": {func(s *simulator.Server) { s.OverloadCalls("PbmRetrieveContent", -1) }, vcenter.ErrUnavailable, "storage policy service"},
		"it does not say what fits":     {func(s *simulator.Server) { s.LoseAnswers("PbmCheckRequirements", -1) }, vcenter.ErrUnavailable, "storage policy service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, storageLayout())
			s := r.session()
			test.breaks(r.server)
			_, _, err := s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
			g.Expect(err).To(MatchError(test.err))
			g.Expect(err).To(MatchError(ContainSubstring(test.text)))
			g.Expect(vcenter.NoSession(err)).To(BeFalse())
			clone(t, s, cloneSpec(t, s, 1)) // not affected
		})
	}
}

func TestHangingPolicyServiceBlocksPolicyUsersOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	r.server.HoldCalls("PbmCheckRequirements", true)
	answer := make(chan error, 1)
	go func() {
		_, _, err := s.DatastoreOf(context.WithoutCancel(t.Context()), anywhere(), kept("fast", 1))
		answer <- err
	}()
	eventually(t, func() error {
		if r.server.Calls()["PbmCheckRequirements"] == 0 {
			return fmt.Errorf("it has not been asked")
		}
		return nil
	})
	clone(t, s, cloneSpec(t, s, 1))
	g.Expect(answer).To(BeEmpty())
	r.server.HoldCalls("PbmCheckRequirements", false)
	g.Eventually(answer).WithTimeout(timeout).Should(Receive())
}

func TestPoliciesFollowTheSession(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	before := r.session()
	_, _, err := before.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
	g.Expect(err).NotTo(HaveOccurred())
	r.server.ExpireSessions()
	eventually(t, func() error {
		s, err := r.pool.Session(endpoint(r.server))
		if err != nil {
			return err
		}
		if s == before {
			return fmt.Errorf("the session has not been replaced")
		}
		_, _, err = s.DatastoreOf(t.Context(), anywhere(), kept("fast", 1))
		return err
	})
}

func TestPoliciesOfPlainVCSim(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout(), simulator.WithStockPolicies())
	s := r.session()
	r.free(map[string]int64{"datastore-a": 100, "datastore-b": 1000, "shared": 1, "fast-1": 10, "fast-2": 1})
	policy, ref, err := s.DatastoreOf(t.Context(), anywhere(), kept("vSAN Default Storage Policy", 1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.named(s, ref)).To(Equal("datastore-a"), "it answers with all datastores that it has, also with those of other clusters")
	spec := cloneSpec(t, s, 1)
	spec.Policies = vcenter.Policies{Home: policy, Disks: policy}
	clone(t, s, spec)
	_, _, err = s.DatastoreOf(t.Context(), anywhere(), kept("gold", 1))
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
}
