// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

// hostFault is a fault of the simulated operator.
type hostFault = faults.Fault[*simulator.Simulator, simulator.Option, types.NamespacedName]

// Modes implements provider.ChaosProvider: the obedient mode, the faults of the simulator whose Chaos is set, and disturbances by other
// writers.
func (Provider) Modes() []provider.Mode {
	modes := provider.FaultModes("hosts obey immediately", simulator.Faults(), func(ctx context.Context, o provider.TargetOptions, fault *hostFault) (provider.Target, error) {
		return newTarget(ctx, o, fault, nil)
	})
	disturbedBy := func(name, is string, begin func(*target, context.Context) error) provider.Mode {
		quick := &hostFault{Options: []simulator.Option{simulator.WithDelays(simulator.Quick())}, Chaos: &faults.Chaos[types.NamespacedName]{}}
		return provider.Mode{Name: name, Is: is, NewTarget: func(ctx context.Context, o provider.TargetOptions) (provider.Target, error) {
			return newTarget(ctx, o, quick, begin)
		}}
	}
	return append(modes,
		disturbedBy("refusing", "the API server denies the provider's writes to some hosts, as the operator's webhook does for invalid hosts", (*target).refuse),
		disturbedBy("busy-hosts", "another client writes to hosts all the time, which causes conflicts", (*target).writeConcurrently),
	)
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

// refusedAnnotation marks hosts for which the provider's writes are refused.
const refusedAnnotation = "storm.faultline.io/refused"

// refuse makes the API server refuse writes to two annotated hosts at a time from every account except the administrator.
func (m *target) refuse(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	m.Disturbance = &provider.Disturbance{
		Simultaneous: []int{2},
		Targets: func() (names [][]string) {
			for _, host := range m.hosts() {
				names = append(names, []string{host.Name})
			}
			return names
		},
		Set: func(on bool, host []string) error {
			value := "null"
			if on {
				value = `""`
			}
			return m.annotate(ctx, host[0], refusedAnnotation, value)
		},
	}
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

// annotate sets an annotation of a host to a value in JSON.
func (m *target) annotate(ctx context.Context, host, key, value string) error {
	object := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: m.cluster.Name, Name: host}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	if err := m.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("writing to host %s: %w", host, err)
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
			host := provider.Pick(random, m.hosts())
			if err := m.annotate(ctx, host.Name, "storm.faultline.io/written", fmt.Sprintf(`"%d"`, i)); err != nil && ctx.Err() == nil {
				m.recordFault("another client", err.Error())
			}
		}
	})
	before := m.stop
	m.stop = func() { cancel(); writer.Wait(); before() }
	return nil
}
