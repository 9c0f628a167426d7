// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// hookRecorder records the hook calls for the virtual machines of a namespace.
type hookRecorder struct {
	mu     sync.Mutex
	events map[string][]string
}

func (o *hookRecorder) record(namespace, event string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events[namespace] = append(o.events[namespace], event)
}

func (o *hookRecorder) count(namespace string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.events[namespace])
}

func (o *hookRecorder) eventsOf(namespace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Compact(slices.Clone(o.events[namespace])) // hooks may be called more than once
}

var hookEvents = &hookRecorder{events: map[string][]string{}}

func recordingHooks() simulator.Hooks {
	return simulator.Hooks{
		NIC: "eth0",
		PowerOn: func(_ context.Context, boot simulator.Boot) error {
			hookEvents.record(boot.VM.Namespace, "on "+boot.VM.Name+" "+string(boot.UserData)+" "+boot.Interfaces[0].IP)
			if boot.VM.Name == "reluctant" && hookEvents.count(boot.VM.Namespace) == 1 {
				return errors.New("not yet")
			}
			return nil
		},
		PowerOff: func(_ context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
			hookEvents.record(vmi.Namespace, "off "+vmi.Name)
			return nil
		},
		Erase: func(_ context.Context, vm *kubevirtv1.VirtualMachine) error {
			hookEvents.record(vm.Namespace, "erase "+vm.Name)
			return nil
		},
	}
}

func TestHooks(t *testing.T) {
	sim.NeedsMigration(t)
	s := newFixture(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vm-cloud-init"}, StringData: map[string]string{"userdata": "#cloud-config"},
	}
	s.Expect(s.client.Create(t.Context(), secret)).To(Succeed())
	vm := s.create("vm", func(vm *kubevirtv1.VirtualMachine) {
		spec := &vm.Spec.Template.Spec
		spec.Volumes = append(spec.Volumes, kubevirtv1.Volume{Name: "cloud-init", VolumeSource: kubevirtv1.VolumeSource{
			CloudInitNoCloud: &kubevirtv1.CloudInitNoCloudSource{UserDataSecretRef: &corev1.LocalObjectReference{Name: secret.Name}},
		}})
	})
	nic := s.waitForAddress("vm").Status.Interfaces[0]
	s.Expect(nic.InterfaceName).To(Equal("eth0"))
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), "")).To(Succeed())
	s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
	s.Eventually(func() []string { return hookEvents.eventsOf(s.namespace) }).Should(Equal([]string{"on vm #cloud-config " + nic.IP, "off vm", "erase vm"}))
}

func TestHookIsRetried(t *testing.T) {
	s := newFixture(t)
	s.create("reluctant")
	s.waitForRunning("reluctant")
	s.Expect(hookEvents.count(s.namespace)).To(Equal(2))
}
