// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const first = "rack-1-host-001"

func requestImage(host *bmov1alpha1.BareMetalHost) {
	host.Spec.Online = true
	host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: host.Namespace, Name: "machine"}
	host.Spec.Image = &bmov1alpha1.Image{URL: "http://images/node.qcow2", Checksum: "abc", ChecksumType: bmov1alpha1.SHA256}
}

func removeImage(host *bmov1alpha1.BareMetalHost) {
	host.Spec.Online, host.Spec.Image, host.Spec.ConsumerRef = false, nil, nil
}

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate()
	seen := f.watch(first)
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)

	host := f.host(first)
	f.Expect(host.Finalizers).To(ConsistOf(bmov1alpha1.BareMetalHostFinalizer))
	f.Expect(host.Status.HardwareDetails.NIC[0].IP).To(Equal("10.0.0.2"))
	f.Expect(host.Status.HardwareDetails.NIC[0].MAC).To(Equal(host.Spec.BootMACAddress))
	f.Expect(host.Status.OperationHistory.Inspect.End).NotTo(BeZero())
	data := &bmov1alpha1.HardwareData{}
	f.Expect(f.client.Get(t.Context(), f.key(first), data)).To(Succeed())
	f.Expect(data.Spec.HardwareDetails).To(Equal(host.Status.HardwareDetails))
	f.Expect(data.OwnerReferences).To(HaveLen(1))

	f.change(first, requestImage)
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	f.Expect(f.host(first).Status.Provisioning.Image.URL).To(Equal("http://images/node.qcow2"))
	f.Expect(f.host(first).Spec.Architecture).To(Equal("x86_64"), "what the inspection has found is written into the spec")
	f.change(first, removeImage)
	f.waitForPrepared(first)
	f.Expect(f.client.Delete(t.Context(), f.host(first))).To(Succeed())
	f.waitForDeletion(host, first)
	f.waitForDeletion(data, first)
	f.Eventually(seen.seen).Should(Equal([]bmov1alpha1.ProvisioningState{
		bmov1alpha1.StateRegistering, bmov1alpha1.StateInspecting, bmov1alpha1.StatePreparing, bmov1alpha1.StateAvailable,
		bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned,
		bmov1alpha1.StateDeprovisioning, bmov1alpha1.StateAvailable, bmov1alpha1.StatePreparing, bmov1alpha1.StateAvailable,
		bmov1alpha1.StatePoweringOffBeforeDelete, bmov1alpha1.StateDeleting,
	}))
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	loud, quiet := newFixture(t), newFixture(t)
	for f, opts := range map[*fixture][]simulator.Option{loud: nil, quiet: {simulator.WithoutEvents()}} {
		f.simulate(opts...)
		f.create(simulator.Racks(1, 1))
		f.change(first, requestImage)
		f.waitForState(first, bmov1alpha1.StateProvisioned)
	}
	loud.Eventually(loud.events).Should(ContainElements("Registered", "BMCAccessValidated", "InspectionComplete", "ProvisioningComplete"))
	quiet.Expect(quiet.events()).To(BeEmpty())
}

func TestDelays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate(simulator.WithDelays(simulator.Delays{Inspecting: time.Second, Jitter: 0.1}), simulator.WithSeed(7))
	start := time.Now()
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.Expect(time.Since(start)).To(BeNumerically(">=", 900*time.Millisecond))
}

func TestReadyHosts(t *testing.T) {
	t.Parallel()
	for name, simulate := range map[string]func(*fixture){
		"before the simulator": func(*fixture) {}, "during the simulator": func(f *fixture) { f.simulate() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			simulate(f)
			layout := simulator.Racks(2, 10)
			layout.Ready = true
			f.create(layout)
			f.Expect(f.countInState(bmov1alpha1.StateAvailable)()).To(Equal(20))
			f.Expect(f.host(first).Status.HardwareDetails.NIC).NotTo(BeEmpty())
			f.Expect(f.host(first).Status.PoweredOn).To(BeTrue())

			version := f.host(first).ResourceVersion
			f.simulate()
			f.change("rack-2-host-010", requestImage)
			f.waitForState("rack-2-host-010", bmov1alpha1.StateProvisioned)
			f.Expect(f.host(first).ResourceVersion).To(Equal(version), "a host that is ready needs nothing more")
		})
	}
}

func TestFaultsOfOneHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bmc := f.simulate()
	bmc.Fail(bmov1alpha1.StateInspecting, f.key(first), "no answer")
	bmc.Stick(bmov1alpha1.StateInspecting, f.key("rack-1-host-002"))
	f.create(simulator.Racks(1, 3))
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.InspectionError && host.Status.ErrorMessage == "no answer" &&
			host.Status.Provisioning.State == bmov1alpha1.StateInspecting && host.Status.ErrorCount == 1
	}, "the error")
	f.waitForState("rack-1-host-003", bmov1alpha1.StateAvailable)
	f.Expect(f.host("rack-1-host-002").Status.Provisioning.State).To(Equal(bmov1alpha1.StateInspecting))

	bmc.Heal(f.key(first))
	bmc.Heal(f.key("rack-1-host-002"))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.waitForState("rack-1-host-002", bmov1alpha1.StateAvailable)
}

func TestFailureIsRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bmc := f.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}))
	bmc.Fail(bmov1alpha1.StateAvailable, f.key(first), "no answer")
	f.create(simulator.Racks(1, 1))
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool { return host.Status.ErrorCount >= 3 }, "counted")
	f.Expect(f.client.Delete(t.Context(), f.host(first))).To(Succeed())
	f.waitForDeletion(&bmov1alpha1.BareMetalHost{}, first)
}

func TestLoseDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var on, off atomic.Int32
	bmc := f.simulate(simulator.WithHooks(simulator.Hooks{
		PowerOn:  func(context.Context, simulator.Boot) error { on.Add(1); return nil },
		PowerOff: func(context.Context, *bmov1alpha1.BareMetalHost) error { off.Add(1); return nil },
	}))
	layout := simulator.Racks(2, 3)
	layout.Ready = true
	f.create(layout)
	f.change(first, requestImage)
	f.waitForState(first, bmov1alpha1.StateProvisioned)

	f.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	for _, name := range []string{first, "rack-1-host-002", "rack-1-host-003"} {
		f.eventually(name, withoutPower, "dark")
		host := f.host(name)
		f.Expect(host.Status.PoweredOn).To(BeTrue(), "its state is unknown")
		f.Expect(host.Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))
		f.Expect(host.Status.ErrorMessage).To(BeEmpty())
	}
	f.Expect(f.host(first).Status.Provisioning.State).To(Equal(bmov1alpha1.StateProvisioned))
	f.Expect(withoutPower(f.host("rack-2-host-001"))).To(BeFalse())
	f.Expect(off.Load()).To(BeEquivalentTo(1))

	f.Expect(bmc.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.Eventually(on.Load).Should(BeEquivalentTo(2), "booted, and booted again when the power was back")
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	f.waitForState("rack-1-host-002", bmov1alpha1.StateAvailable)
	f.Expect(withoutPower(f.host(first))).To(BeFalse())
}

func withoutPower(host *bmov1alpha1.BareMetalHost) bool {
	return meta.IsStatusConditionFalse(host.Status.Conditions, bmov1alpha1.ManageableCondition)
}

func TestPowerLossIsDetectedByPolling(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bmc := f.simulate(simulator.WithDelays(simulator.Delays{PowerLoss: time.Second}))
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	f.create(layout)
	start := time.Now()
	f.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	f.eventually(first, withoutPower, "dark")
	f.Expect(time.Since(start)).To(BeNumerically(">=", time.Second))
}

// Which operations work for a host that has lost its power, and which do not.
func TestHostWithoutPowerNeedsForcedDetachment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bmc := f.simulate()
	f.create(simulator.Racks(1, 1))
	f.change(first, requestImage)
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	f.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	f.eventually(first, withoutPower, "dark")

	f.change(first, removeImage)
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateDeprovisioning
	}, "the state that it does not leave")
	f.change(first, annotate(bmov1alpha1.DetachedAnnotation, ""))
	f.Expect(f.client.Delete(t.Context(), f.host(first))).To(Succeed())
	stays := func() bmov1alpha1.BareMetalHostStatus {
		status := f.host(first).Status
		return bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: status.OperationalStatus, ErrorMessage: status.ErrorMessage, Provisioning: bmov1alpha1.ProvisionStatus{State: status.Provisioning.State},
		}
	}
	f.Consistently(stays, time.Second).Should(Equal(bmov1alpha1.BareMetalHostStatus{
		OperationalStatus: bmov1alpha1.OperationalStatusOK, Provisioning: bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateDeprovisioning},
	}), "neither a deletion nor a detachment helps, and no error is reported")

	f.change(first, annotate(bmov1alpha1.DetachedAnnotation, `{"force":true}`))
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
	}, "detached")
	f.Expect(f.host(first).Finalizers).NotTo(BeEmpty(), "it is reconciled again when it changes")
	f.change(first, annotate("touched", ""))
	f.waitForDeletion(&bmov1alpha1.BareMetalHost{}, first)
}

func annotate(key, value string) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, value) }
}

func TestPowerOnIsRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bmc := f.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}))
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.Expect(bmc.FailPower(t.Context(), "rack-1")).To(Succeed())
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.PowerManagementError && !host.Status.PoweredOn && host.Status.ErrorCount > 1
	}, "the error")
	f.Expect(bmc.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.waitForState(first, bmov1alpha1.StateAvailable)
}

func TestMissingSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate()
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.change(first, func(host *bmov1alpha1.BareMetalHost) {
		requestImage(host)
		host.Spec.UserData = &corev1.SecretReference{Name: "bootstrap"}
	})
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateProvisioning
	}, "provisioning")
	f.Consistently(func() string { return f.host(first).Status.ErrorMessage }, time.Second).Should(BeEmpty())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "bootstrap"}, StringData: map[string]string{"value": "#cloud-config"}}
	f.Expect(f.client.Create(t.Context(), secret)).To(Succeed())
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	f.Expect(f.client.Get(t.Context(), f.key("bootstrap"), secret)).To(Succeed())
	f.Expect(secret.Labels).To(HaveKeyWithValue("environment.metal3.io", "baremetal"), "the operator marks what it reads")
}

func TestDiskIsErased(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var erased, refused atomic.Int32
	f.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}), simulator.WithHooks(simulator.Hooks{
		Erase: func(context.Context, *bmov1alpha1.BareMetalHost) error {
			if refused.Add(1) == 1 {
				return errors.New("no answer")
			}
			erased.Add(1)
			return nil
		},
	}))
	f.create(simulator.Racks(1, 1))
	for round := range int32(2) {
		f.waitForState(first, bmov1alpha1.StateAvailable)
		f.change(first, requestImage)
		f.waitForState(first, bmov1alpha1.StateProvisioned)
		f.Expect(erased.Load()).To(Equal(round))
		if round > 0 {
			f.change(first, func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false })
			f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool { return !host.Status.PoweredOn }, "off")
		}
		f.change(first, removeImage)
	}
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.Expect(erased.Load()).To(BeEquivalentTo(2))
}

func TestBootData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	boots, stops := make(chan simulator.Boot, 10), make(chan string, 10)
	f.simulate(simulator.WithHooks(simulator.Hooks{
		PowerOn:  func(_ context.Context, boot simulator.Boot) error { boots <- boot; return nil },
		PowerOff: func(_ context.Context, host *bmov1alpha1.BareMetalHost) error { stops <- host.Name; return nil },
	}))
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	for name, data := range map[string]map[string]string{
		"bootstrap": {"value": "#cloud-config"},
		"meta":      {"metaData": "local-hostname: machine\nzone: a\n"},
		"net":       {"networkData": "links: []"},
	} {
		f.Expect(f.client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, StringData: data,
		})).To(Succeed())
	}
	f.change(first, func(host *bmov1alpha1.BareMetalHost) {
		requestImage(host)
		host.Spec.UserData = &corev1.SecretReference{Name: "bootstrap"}
		host.Spec.MetaData = &corev1.SecretReference{Name: "meta", Namespace: f.namespace}
		host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
	})
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	var boot simulator.Boot
	f.Expect(boots).To(Receive(&boot))
	f.Expect(string(boot.UserData)).To(Equal("#cloud-config"))
	f.Expect(string(boot.NetworkData)).To(Equal("links: []"))
	f.Expect(boot.MetaData).To(HaveKeyWithValue("uuid", string(boot.Host.UID)))
	f.Expect(boot.MetaData).To(HaveKeyWithValue("local-hostname", "machine"))
	f.Expect(boot.MetaData).To(HaveKeyWithValue("zone", "a"))
	f.Expect(boot.Host.Spec.Image.URL).To(Equal("http://images/node.qcow2"))

	f.change(first, func(host *bmov1alpha1.BareMetalHost) {
		host.Annotations = map[string]string{bmov1alpha1.RebootAnnotationPrefix: ""}
	})
	f.Eventually(boots).Should(Receive(), "a reboot boots again")
	f.Expect(stops).To(Receive())
	f.change(first, removeImage)
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.Expect(stops).To(Receive())
	f.Expect(boots).NotTo(Receive())
}

func TestBootError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var broken atomic.Bool
	broken.Store(true)
	f.simulate(simulator.WithHooks(simulator.Hooks{PowerOn: func(context.Context, simulator.Boot) error {
		if broken.Load() {
			return errors.New("no container")
		}
		return nil
	}}))
	f.create(simulator.Racks(1, 1))
	f.change(first, requestImage)
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorMessage == "powering on: no container" &&
			host.Status.Provisioning.State == bmov1alpha1.StateProvisioning
	}, "the error of the hook")
	broken.Store(false)
	f.waitForState(first, bmov1alpha1.StateProvisioned)
}

func TestBMCSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate()
	f.create(simulator.Racks(1, 1))
	f.waitForState(first, bmov1alpha1.StateAvailable)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: first + "-bmc"}}
	f.Expect(f.client.Delete(t.Context(), secret)).To(Succeed())
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed(), "it is needed as long as the host is there")
	f.Expect(f.client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.RegistrationError && host.Status.Provisioning.State == bmov1alpha1.StateAvailable
	}, "a registration error")
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: first + "-bmc"}}
	f.Expect(f.client.Create(t.Context(), secret)).To(Succeed())
	f.waitForState(first, bmov1alpha1.StateAvailable)
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	f.Expect(f.host(first).Status.GoodCredentials.Version).To(Equal(secret.ResourceVersion))
}

// The steps of clusterctl move: pause, save the status, delete, create in another cluster with the annotation, unpause.
func TestMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var on atomic.Int32
	f.simulate(simulator.WithHooks(simulator.Hooks{PowerOn: func(context.Context, simulator.Boot) error { on.Add(1); return nil }}))
	f.create(simulator.Racks(1, 1))
	f.change(first, requestImage)
	f.waitForState(first, bmov1alpha1.StateProvisioned)
	f.change(first, func(host *bmov1alpha1.BareMetalHost) {
		host.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: "metal3.io/capm3"}
		host.Finalizers = nil
	})
	source := f.host(first)
	saved := source.Status.DeepCopy()
	saved.HardwareDetails = nil
	backup, err := json.Marshal(saved)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), source)).To(Succeed())
	f.waitForDeletion(&bmov1alpha1.BareMetalHost{}, first)

	seen := f.watch(first)
	target := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: first, Labels: source.Labels,
		Annotations: map[string]string{bmov1alpha1.PausedAnnotation: "metal3.io/capm3", bmov1alpha1.StatusAnnotation: string(backup)},
	}, Spec: source.Spec}
	f.Expect(f.client.Create(t.Context(), target)).To(Succeed())
	f.Consistently(func() *metav1.Time { return f.host(first).Status.LastUpdated }, time.Second).Should(BeNil())
	f.change(first, func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, bmov1alpha1.PausedAnnotation) })
	f.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.HardwareDetails != nil && len(host.Annotations) == 0
	}, "status and hardware are back")
	f.Expect(f.host(first).Status.Provisioning).To(Equal(saved.Provisioning))
	f.Expect(seen.seen()).To(Equal([]bmov1alpha1.ProvisioningState{bmov1alpha1.StateProvisioned}))
	f.Expect(on.Load()).To(BeEquivalentTo(1), "it runs on")
}

func TestPlacements(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	layout := simulator.Layout{Ready: true, Domains: []simulator.Domain{
		{Name: "a", Hosts: 2, Labels: map[string]string{"size": "large"}}, {Hosts: 1},
	}}
	f.create(layout)
	f.change("a-host-002", requestImage)
	placements, err := simulator.Placements(t.Context(), f.client, f.namespace)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(placements).To(Equal([]simulator.Placement{
		{Host: "a-host-001", Domain: "a", State: bmov1alpha1.StateAvailable, PoweredOn: true},
		{
			Host: "a-host-002", Domain: "a", State: bmov1alpha1.StateAvailable, PoweredOn: true,
			Consumer: "machine", Kind: "Metal3Machine",
		},
		{Host: "host-001", State: bmov1alpha1.StateAvailable, PoweredOn: true},
	}))
	f.Expect(simulator.ByDomain(placements)).To(Equal(map[string]int{"a": 1}))
	f.Expect(f.host("a-host-001").Labels).To(HaveKeyWithValue("size", "large"))
}

// TestHostClaimedDuringCreationBoots covers a simulator and a consumer that are faster than Create.
func TestHostClaimedDuringCreationBoots(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	taken := false
	faster := interceptor.NewClient(f.client, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption) error {
			if !taken {
				taken = true
				host := &bmov1alpha1.BareMetalHost{}
				f.Expect(c.Get(ctx, client.ObjectKeyFromObject(o), host)).To(Succeed())
				host.Status = o.(*bmov1alpha1.BareMetalHost).Status
				f.Expect(c.Status().Update(ctx, host)).To(Succeed())
				host.Spec.Online, host.Spec.Image = true, &bmov1alpha1.Image{URL: "https://images.example.com/node.qcow2", Checksum: "0123456789abcdef"}
				f.Expect(c.Update(ctx, host)).To(Succeed())
			}
			return c.SubResource(name).Update(ctx, o, options...)
		},
	})
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	f.Expect(simulator.Create(t.Context(), faster, f.namespace, layout)).To(Succeed())
	hosts := &bmov1alpha1.BareMetalHostList{}
	f.Expect(f.client.List(t.Context(), hosts, client.InNamespace(f.namespace))).To(Succeed())
	f.Expect(hosts.Items).To(HaveLen(1))
	f.Expect(hosts.Items[0].Status.Provisioning.State).To(Equal(bmov1alpha1.StateAvailable), "the boot has not been reported")
}

func TestWebhookValidation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate()
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	f.create(layout)
	for message, spoil := range map[string]func(*bmov1alpha1.BareMetalHost){
		"online set to false and have power off disabled": func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.Online, host.Spec.DisablePowerOff = false, true
		},
		"bootMACAddress can not be changed": func(host *bmov1alpha1.BareMetalHost) { host.Spec.BootMACAddress = "02:00:00:00:00:99" },
		"invalid operationalStatus or errorType": annotate(bmov1alpha1.StatusAnnotation,
			`{"operationalStatus":"servicing","errorMessage":"","poweredOn":true,"errorCount":0}`),
	} {
		f.Eventually(func() error {
			host := f.host(first)
			before := host.DeepCopy()
			spoil(host)
			return f.client.Patch(t.Context(), host, client.MergeFrom(before), client.DryRunAll)
		}).Should(MatchError(ContainSubstring(message)))
	}
	f.change(first, annotate(bmov1alpha1.StatusAnnotation, `{"operationalStatus":"error","errorType":"power management error","poweredOn":true}`))
}
