// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// mode is how hosts and their operator behave.
type mode struct {
	provider.Mode
	// options are for the simulator's start.
	options []simulator.Option
	// begin is done once, disturb before each kill, calm when all is to come to rest;
	// each may be nil.
	begin   func(*target, context.Context) error
	disturb func(*target, context.Context, *rand.Rand) error
	calm    func(*target, context.Context) error
}

func stormModes() []mode {
	quick := simulator.Delays{Provisioning: 300 * time.Millisecond, Deprovisioning: 300 * time.Millisecond, Retry: 500 * time.Millisecond, Jitter: 0.5}
	slow := simulator.Delays{
		Preparing: 500 * time.Millisecond, Provisioning: 2 * time.Second, Deprovisioning: 1500 * time.Millisecond,
		Cleaning: 500 * time.Millisecond, Power: 300 * time.Millisecond, Retry: time.Second, Jitter: 0.5,
	}
	return []mode{
		{Mode: provider.Mode{Name: "obedient", Is: "hosts do what they are told, in no time"}},
		{Mode: provider.Mode{Name: "slow", Is: "hosts take seconds for everything"}, options: []simulator.Option{simulator.WithDelays(slow)}},
		{
			Mode:    provider.Mode{Name: "failing", Is: "what hosts do fails, or gets stuck, for a while"},
			options: []simulator.Option{simulator.WithDelays(quick)}, disturb: (*target).fail, calm: (*target).heal,
		},
		{
			Mode:    provider.Mode{Name: "refusing", Is: "the API server refuses what the provider writes to some hosts, as the operator's webhook does with a host that it finds invalid"},
			options: []simulator.Option{simulator.WithDelays(quick)}, begin: (*target).install, disturb: (*target).refuse, calm: (*target).accept,
		},
		{
			Mode:    provider.Mode{Name: "busy-hosts", Is: "others write to hosts all the time, so that writes conflict"},
			options: []simulator.Option{simulator.WithDelays(quick)}, begin: (*target).beBusy,
		},
	}
}

// fail lets two hosts fail at what they do, or get stuck, and heals those of before.
func (m *target) fail(ctx context.Context, random *rand.Rand) error {
	if err := m.heal(ctx); err != nil {
		return err
	}
	states := []bmov1alpha1.ProvisioningState{
		bmov1alpha1.StateAvailable, bmov1alpha1.StatePreparing, bmov1alpha1.StateProvisioning, bmov1alpha1.StateDeprovisioning,
	}
	for range 2 {
		host, state := m.host(random), provider.Pick(random, states)
		if random.IntN(2) == 0 {
			m.operator.Fail(state, host, "the BMC does not answer")
		} else {
			m.operator.Stick(state, host)
		}
		m.troubled = append(m.troubled, host)
	}
	return nil
}

func (m *target) heal(context.Context) error {
	for _, host := range m.troubled {
		m.operator.Heal(host)
	}
	m.troubled = nil
	return nil
}

// refusedAnnotation is on hosts that the provider's writes to are refused.
const refusedAnnotation = "storm.faultline.io/refused"

// install has the API server refuse what any account but the administrator's writes to
// hosts with the annotation.
func (m *target) install(ctx context.Context) error {
	name := metav1.ObjectMeta{Name: "storm"}
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{bmov1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"baremetalhosts"}},
	}}
	return provider.Create(ctx, m.client,
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
			Validations: []admissionv1.Validation{{
				Expression: "!request.userInfo.username.startsWith('system:serviceaccount:') || !('" + refusedAnnotation + "' in object.metadata.?annotations.orValue({}))",
				Message:    "unknown BMC type in spec.bmc.address",
			}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	)
}

// refuse has writes to two hosts refused, and no longer those to the hosts of before.
func (m *target) refuse(ctx context.Context, random *rand.Rand) error {
	if err := m.accept(ctx); err != nil {
		return err
	}
	for range 2 {
		host := m.host(random)
		if err := m.patch(ctx, host, `{"metadata":{"annotations":{"`+refusedAnnotation+`":""}}}`); err != nil {
			return err
		}
		m.troubled = append(m.troubled, host)
	}
	return nil
}

func (m *target) accept(ctx context.Context) error {
	for _, host := range m.troubled {
		if err := m.patch(ctx, host, `{"metadata":{"annotations":{"`+refusedAnnotation+`":null}}}`); err != nil {
			return err
		}
	}
	m.troubled = nil
	return nil
}

func (m *target) patch(ctx context.Context, host types.NamespacedName, patch string) error {
	object := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name}}
	if err := m.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("writing to host %s: %w", host.Name, err)
	}
	return nil
}

// writeEvery is how often another writes to some host: often enough to come between a
// read and a write now and then.
const writeEvery = 20 * time.Millisecond

// beBusy writes to hosts until Close.
func (m *target) beBusy(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	random := provider.Random(m.seed, "another writer")
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; provider.Pause(ctx, writeEvery) == nil; i++ {
			if err := m.patch(ctx, m.host(random), fmt.Sprintf(`{"metadata":{"annotations":{"storm.faultline.io/written":"%d"}}}`, i)); err != nil && ctx.Err() == nil {
				m.complain("another writer", err.Error())
			}
		}
	})
	before := m.stop
	m.stop = func() { cancel(); writer.Wait(); before() }
	return nil
}
