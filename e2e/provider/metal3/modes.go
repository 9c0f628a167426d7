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

// mode is a behavior of hosts and their operator: with one fault of the simulator, or disturbed by other writers.
type mode struct {
	provider.FaultMode[*simulator.Simulator, simulator.Option, types.NamespacedName]
	// begin runs once, disturb before each kill, and calm before everything must settle. Each may be nil.
	begin   func(*target, context.Context) error
	disturb func(*target, context.Context, *rand.Rand) error
	calm    func(*target, context.Context) error
}

// chaosModes returns the obedient mode, the faults of the simulator whose Chaos is set, and disturbances by other writers.
func chaosModes() []mode {
	var modes []mode
	for _, of := range provider.FaultModes("hosts obey immediately", simulator.Faults()) {
		modes = append(modes, mode{FaultMode: of})
	}
	refusing, busy := mode{begin: (*target).install, disturb: (*target).refuse, calm: (*target).accept}, mode{begin: (*target).writeConcurrently}
	refusing.Mode = provider.Mode{
		Name: "refusing", Is: "the API server denies the provider's writes to some hosts, as the operator's webhook does for invalid hosts",
	}
	busy.Mode = provider.Mode{Name: "busy-hosts", Is: "another client writes to hosts all the time, which causes conflicts"}
	for _, of := range []*mode{&refusing, &busy} {
		of.Fault.Options = []simulator.Option{simulator.WithDelays(simulator.Quick())}
	}
	return append(modes, refusing, busy)
}

// hosts returns the hosts of the cluster.
func (m *target) hosts() []types.NamespacedName {
	planned := m.layout.Hosts(m.cluster.Name)
	keys := make([]types.NamespacedName, len(planned))
	for i := range planned {
		keys[i] = client.ObjectKeyFromObject(&planned[i])
	}
	return keys
}

func (m *target) Disturb(ctx context.Context, random *rand.Rand) error {
	if m.mode.disturb != nil {
		return m.mode.disturb(m, ctx, random)
	}
	return m.faults.Next(random)
}

func (m *target) EndDisturbances(ctx context.Context) error {
	if m.mode.calm != nil {
		return m.mode.calm(m, ctx)
	}
	return m.faults.End()
}

// refusedAnnotation marks hosts for which the provider's writes are refused.
const refusedAnnotation = "storm.faultline.io/refused"

// install makes the API server refuse writes to annotated hosts from every account except the administrator.
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

// refuse makes writes to two hosts refused, and accepts writes to the previous ones again.
func (m *target) refuse(ctx context.Context, random *rand.Rand) error {
	if err := m.accept(ctx); err != nil {
		return err
	}
	for range 2 {
		host := m.host(random)
		if err := m.patch(ctx, host, `{"metadata":{"annotations":{"`+refusedAnnotation+`":""}}}`); err != nil {
			return err
		}
		m.refusedHosts = append(m.refusedHosts, host)
	}
	return nil
}

func (m *target) accept(ctx context.Context) error {
	for _, host := range m.refusedHosts {
		if err := m.patch(ctx, host, `{"metadata":{"annotations":{"`+refusedAnnotation+`":null}}}`); err != nil {
			return err
		}
	}
	m.refusedHosts = nil
	return nil
}

func (m *target) patch(ctx context.Context, host types.NamespacedName, patch string) error {
	object := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name}}
	if err := m.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("writing to host %s: %w", host.Name, err)
	}
	return nil
}

// writeEvery is the interval of another writer's writes to random hosts: short enough to sometimes come between a read and a write.
const writeEvery = 20 * time.Millisecond

// writeConcurrently writes to hosts until Close.
func (m *target) writeConcurrently(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	random := provider.Random(m.seed, "another client")
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; provider.Pause(ctx, writeEvery) == nil; i++ {
			if err := m.patch(ctx, m.host(random), fmt.Sprintf(`{"metadata":{"annotations":{"storm.faultline.io/written":"%d"}}}`, i)); err != nil && ctx.Err() == nil {
				m.recordFault("another client", err.Error())
			}
		}
	})
	before := m.stop
	m.stop = func() { cancel(); writer.Wait(); before() }
	return nil
}
