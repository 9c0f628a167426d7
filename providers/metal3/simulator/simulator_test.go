// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

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

func want(host *bmov1alpha1.BareMetalHost) {
	host.Spec.Online = true
	host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: host.Namespace, Name: "machine"}
	host.Spec.Image = &bmov1alpha1.Image{URL: "http://images/node.qcow2", Checksum: "abc", ChecksumType: bmov1alpha1.SHA256}
}

func release(host *bmov1alpha1.BareMetalHost) {
	host.Spec.Online, host.Spec.Image, host.Spec.ConsumerRef = false, nil, nil
}

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.simulate()
	seen := s.watch(first)
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)

	host := s.host(first)
	s.Expect(host.Finalizers).To(ConsistOf(bmov1alpha1.BareMetalHostFinalizer))
	s.Expect(host.Status.HardwareDetails.NIC[0].IP).To(Equal("10.0.0.2"))
	s.Expect(host.Status.HardwareDetails.NIC[0].MAC).To(Equal(host.Spec.BootMACAddress))
	s.Expect(host.Status.OperationHistory.Inspect.End).NotTo(BeZero())
	data := &bmov1alpha1.HardwareData{}
	s.Expect(s.client.Get(t.Context(), s.key(first), data)).To(Succeed())
	s.Expect(data.Spec.HardwareDetails).To(Equal(host.Status.HardwareDetails))
	s.Expect(data.OwnerReferences).To(HaveLen(1))

	s.change(first, want)
	s.reaches(first, bmov1alpha1.StateProvisioned)
	s.Expect(s.host(first).Status.Provisioning.Image.URL).To(Equal("http://images/node.qcow2"))
	s.Expect(s.host(first).Spec.Architecture).To(Equal("x86_64"), "what the inspection has found is written into the spec")
	s.change(first, release)
	s.prepared(first)
	s.Expect(s.client.Delete(t.Context(), s.host(first))).To(Succeed())
	s.gone(host, first)
	s.gone(data, first)
	s.Eventually(seen.seen).Should(Equal([]bmov1alpha1.ProvisioningState{
		bmov1alpha1.StateRegistering, bmov1alpha1.StateInspecting, bmov1alpha1.StatePreparing, bmov1alpha1.StateAvailable,
		bmov1alpha1.StateProvisioning, bmov1alpha1.StateProvisioned,
		bmov1alpha1.StateDeprovisioning, bmov1alpha1.StateAvailable, bmov1alpha1.StatePreparing, bmov1alpha1.StateAvailable,
		bmov1alpha1.StatePoweringOffBeforeDelete, bmov1alpha1.StateDeleting,
	}))
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
}

func TestEventsTellWhatHappened(t *testing.T) {
	t.Parallel()
	loud, quiet := newSite(t), newSite(t)
	for s, opts := range map[*site][]simulator.Option{loud: nil, quiet: {simulator.WithoutEvents()}} {
		s.simulate(opts...)
		s.create(simulator.Racks(1, 1))
		s.change(first, want)
		s.reaches(first, bmov1alpha1.StateProvisioned)
	}
	loud.Eventually(loud.events).Should(ContainElements("Registered", "BMCAccessValidated", "InspectionComplete", "ProvisioningComplete"))
	quiet.Expect(quiet.events()).To(BeEmpty())
}

func TestDelaysAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.simulate(simulator.WithDelays(simulator.Delays{Inspecting: time.Second, Jitter: 0.1}), simulator.WithSeed(7))
	start := time.Now()
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.Expect(time.Since(start)).To(BeNumerically(">=", 900*time.Millisecond))
}

func TestReadyHosts(t *testing.T) {
	t.Parallel()
	for name, simulate := range map[string]func(*site){
		"before the simulator": func(*site) {}, "beside the simulator": func(s *site) { s.simulate() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			simulate(s)
			layout := simulator.Racks(2, 10)
			layout.Ready = true
			s.create(layout)
			s.Expect(s.all(bmov1alpha1.StateAvailable)()).To(Equal(20))
			s.Expect(s.host(first).Status.HardwareDetails.NIC).NotTo(BeEmpty())
			s.Expect(s.host(first).Status.PoweredOn).To(BeTrue())

			version := s.host(first).ResourceVersion
			s.simulate()
			s.change("rack-2-host-010", want)
			s.reaches("rack-2-host-010", bmov1alpha1.StateProvisioned)
			s.Expect(s.host(first).ResourceVersion).To(Equal(version), "a host that is ready needs nothing more")
		})
	}
}

func TestFaultsOfOneHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bmc := s.simulate()
	bmc.Fail(bmov1alpha1.StateInspecting, s.key(first), "no answer")
	bmc.Stick(bmov1alpha1.StateInspecting, s.key("rack-1-host-002"))
	s.create(simulator.Racks(1, 3))
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.InspectionError && host.Status.ErrorMessage == "no answer" &&
			host.Status.Provisioning.State == bmov1alpha1.StateInspecting && host.Status.ErrorCount == 1
	}, "the error")
	s.reaches("rack-1-host-003", bmov1alpha1.StateAvailable)
	s.Expect(s.host("rack-1-host-002").Status.Provisioning.State).To(Equal(bmov1alpha1.StateInspecting))

	bmc.Heal(s.key(first))
	bmc.Heal(s.key("rack-1-host-002"))
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.reaches("rack-1-host-002", bmov1alpha1.StateAvailable)
}

func TestAFailureRepeats(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bmc := s.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}))
	bmc.Fail(bmov1alpha1.StateAvailable, s.key(first), "no answer")
	s.create(simulator.Racks(1, 1))
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool { return host.Status.ErrorCount >= 3 }, "counted")
	s.Expect(s.client.Delete(t.Context(), s.host(first))).To(Succeed())
	s.gone(&bmov1alpha1.BareMetalHost{}, first)
}

func TestADomainIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var on, off atomic.Int32
	bmc := s.simulate(simulator.WithHooks(simulator.Hooks{
		PowerOn:  func(context.Context, simulator.Boot) error { on.Add(1); return nil },
		PowerOff: func(context.Context, *bmov1alpha1.BareMetalHost) error { off.Add(1); return nil },
	}))
	layout := simulator.Racks(2, 3)
	layout.Ready = true
	s.create(layout)
	s.change(first, want)
	s.reaches(first, bmov1alpha1.StateProvisioned)

	s.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	for _, name := range []string{first, "rack-1-host-002", "rack-1-host-003"} {
		s.eventually(name, withoutPower, "dark")
		host := s.host(name)
		s.Expect(host.Status.PoweredOn).To(BeTrue(), "nobody knows better")
		s.Expect(host.Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))
		s.Expect(host.Status.ErrorMessage).To(BeEmpty())
	}
	s.Expect(s.host(first).Status.Provisioning.State).To(Equal(bmov1alpha1.StateProvisioned))
	s.Expect(withoutPower(s.host("rack-2-host-001"))).To(BeFalse())
	s.Expect(off.Load()).To(BeEquivalentTo(1))

	s.Expect(bmc.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	s.Eventually(on.Load).Should(BeEquivalentTo(2), "booted, and booted again when the power was back")
	s.reaches(first, bmov1alpha1.StateProvisioned)
	s.reaches("rack-1-host-002", bmov1alpha1.StateAvailable)
	s.Expect(withoutPower(s.host(first))).To(BeFalse())
}

func withoutPower(host *bmov1alpha1.BareMetalHost) bool {
	return meta.IsStatusConditionFalse(host.Status.Conditions, bmov1alpha1.ManageableCondition)
}

func TestTheOperatorNoticesALossOfPowerWhenItPolls(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bmc := s.simulate(simulator.WithDelays(simulator.Delays{PowerLoss: time.Second}))
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	s.create(layout)
	start := time.Now()
	s.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	s.eventually(first, withoutPower, "dark")
	s.Expect(time.Since(start)).To(BeNumerically(">=", time.Second))
}

// Which operations work for a host that has lost its power, and which do not.
func TestAHostWithoutPowerGoesOnlyWhenItIsDetachedByForce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bmc := s.simulate()
	s.create(simulator.Racks(1, 1))
	s.change(first, want)
	s.reaches(first, bmov1alpha1.StateProvisioned)
	s.Expect(bmc.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	s.eventually(first, withoutPower, "dark")

	s.change(first, release)
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateDeprovisioning
	}, "the state that it does not leave")
	s.change(first, annotate(bmov1alpha1.DetachedAnnotation, ""))
	s.Expect(s.client.Delete(t.Context(), s.host(first))).To(Succeed())
	stays := func() bmov1alpha1.BareMetalHostStatus {
		status := s.host(first).Status
		return bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: status.OperationalStatus, ErrorMessage: status.ErrorMessage, Provisioning: bmov1alpha1.ProvisionStatus{State: status.Provisioning.State},
		}
	}
	s.Consistently(stays, time.Second).Should(Equal(bmov1alpha1.BareMetalHostStatus{
		OperationalStatus: bmov1alpha1.OperationalStatusOK, Provisioning: bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateDeprovisioning},
	}), "neither a deletion nor a detachment helps, and there is no error")

	s.change(first, annotate(bmov1alpha1.DetachedAnnotation, `{"force":true}`))
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.OperationalStatus == bmov1alpha1.OperationalStatusDetached
	}, "detached")
	s.Expect(s.host(first).Finalizers).NotTo(BeEmpty(), "it is looked at again when somebody changes it")
	s.change(first, annotate("touched", ""))
	s.gone(&bmov1alpha1.BareMetalHost{}, first)
}

func annotate(key, value string) func(*bmov1alpha1.BareMetalHost) {
	return func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, value) }
}

func TestAMachineThatCannotBeSwitchedOnFailsAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bmc := s.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}))
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.Expect(bmc.FailPower(t.Context(), "rack-1")).To(Succeed())
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.PowerManagementError && !host.Status.PoweredOn && host.Status.ErrorCount > 1
	}, "the error")
	s.Expect(bmc.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	s.reaches(first, bmov1alpha1.StateAvailable)
}

func TestAMissingSecretIsNoError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.simulate()
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.change(first, func(host *bmov1alpha1.BareMetalHost) {
		want(host)
		host.Spec.UserData = &corev1.SecretReference{Name: "bootstrap"}
	})
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.Provisioning.State == bmov1alpha1.StateProvisioning
	}, "provisioning")
	s.Consistently(func() string { return s.host(first).Status.ErrorMessage }, time.Second).Should(BeEmpty())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "bootstrap"}, StringData: map[string]string{"value": "#cloud-config"}}
	s.Expect(s.client.Create(t.Context(), secret)).To(Succeed())
	s.reaches(first, bmov1alpha1.StateProvisioned)
	s.Expect(s.client.Get(t.Context(), s.key("bootstrap"), secret)).To(Succeed())
	s.Expect(secret.Labels).To(HaveKeyWithValue("environment.metal3.io", "baremetal"), "the operator marks what it reads")
}

func TestADiskIsErasedWhetherItRunsOrNot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var erased, refused atomic.Int32
	s.simulate(simulator.WithDelays(simulator.Delays{Retry: 10 * time.Millisecond}), simulator.WithHooks(simulator.Hooks{
		Erase: func(context.Context, *bmov1alpha1.BareMetalHost) error {
			if refused.Add(1) == 1 {
				return errors.New("no answer")
			}
			erased.Add(1)
			return nil
		},
	}))
	s.create(simulator.Racks(1, 1))
	for round := range int32(2) {
		s.reaches(first, bmov1alpha1.StateAvailable)
		s.change(first, want)
		s.reaches(first, bmov1alpha1.StateProvisioned)
		s.Expect(erased.Load()).To(Equal(round))
		if round > 0 {
			s.change(first, func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false })
			s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool { return !host.Status.PoweredOn }, "off")
		}
		s.change(first, release)
	}
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.Expect(erased.Load()).To(BeEquivalentTo(2))
}

func TestABootSeesWhatWasRendered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	boots, stops := make(chan simulator.Boot, 10), make(chan string, 10)
	s.simulate(simulator.WithHooks(simulator.Hooks{
		PowerOn:  func(_ context.Context, boot simulator.Boot) error { boots <- boot; return nil },
		PowerOff: func(_ context.Context, host *bmov1alpha1.BareMetalHost) error { stops <- host.Name; return nil },
	}))
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
	for name, data := range map[string]map[string]string{
		"bootstrap": {"value": "#cloud-config"},
		"meta":      {"metaData": "local-hostname: machine\nzone: a\n"},
		"net":       {"networkData": "links: []"},
	} {
		s.Expect(s.client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, StringData: data,
		})).To(Succeed())
	}
	s.change(first, func(host *bmov1alpha1.BareMetalHost) {
		want(host)
		host.Spec.UserData = &corev1.SecretReference{Name: "bootstrap"}
		host.Spec.MetaData = &corev1.SecretReference{Name: "meta", Namespace: s.namespace}
		host.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
	})
	s.reaches(first, bmov1alpha1.StateProvisioned)
	var boot simulator.Boot
	s.Expect(boots).To(Receive(&boot))
	s.Expect(string(boot.UserData)).To(Equal("#cloud-config"))
	s.Expect(string(boot.NetworkData)).To(Equal("links: []"))
	s.Expect(boot.MetaData).To(HaveKeyWithValue("uuid", string(boot.Host.UID)))
	s.Expect(boot.MetaData).To(HaveKeyWithValue("local-hostname", "machine"))
	s.Expect(boot.MetaData).To(HaveKeyWithValue("zone", "a"))
	s.Expect(boot.Host.Spec.Image.URL).To(Equal("http://images/node.qcow2"))

	s.change(first, func(host *bmov1alpha1.BareMetalHost) {
		host.Annotations = map[string]string{bmov1alpha1.RebootAnnotationPrefix: ""}
	})
	s.Eventually(boots).Should(Receive(), "a reboot boots again")
	s.Expect(stops).To(Receive())
	s.change(first, release)
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.Expect(stops).To(Receive())
	s.Expect(boots).NotTo(Receive())
}

func TestAMachineThatDoesNotBootIsAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var broken atomic.Bool
	broken.Store(true)
	s.simulate(simulator.WithHooks(simulator.Hooks{PowerOn: func(context.Context, simulator.Boot) error {
		if broken.Load() {
			return errors.New("no container")
		}
		return nil
	}}))
	s.create(simulator.Racks(1, 1))
	s.change(first, want)
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorMessage == "powering on: no container" &&
			host.Status.Provisioning.State == bmov1alpha1.StateProvisioning
	}, "the error of the hook")
	broken.Store(false)
	s.reaches(first, bmov1alpha1.StateProvisioned)
}

func TestTheSecretOfABMC(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.simulate()
	s.create(simulator.Racks(1, 1))
	s.reaches(first, bmov1alpha1.StateAvailable)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: first + "-bmc"}}
	s.Expect(s.client.Delete(t.Context(), secret)).To(Succeed())
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed(), "it is needed as long as the host is there")
	s.Expect(s.client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.ErrorType == bmov1alpha1.RegistrationError && host.Status.Provisioning.State == bmov1alpha1.StateAvailable
	}, "a registration error")
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: first + "-bmc"}}
	s.Expect(s.client.Create(t.Context(), secret)).To(Succeed())
	s.reaches(first, bmov1alpha1.StateAvailable)
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	s.Expect(s.host(first).Status.GoodCredentials.Version).To(Equal(secret.ResourceVersion))
}

// The steps of clusterctl move: pause, save the status, delete, create in another cluster with the annotation, unpause.
func TestAHostIsMoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var on atomic.Int32
	s.simulate(simulator.WithHooks(simulator.Hooks{PowerOn: func(context.Context, simulator.Boot) error { on.Add(1); return nil }}))
	s.create(simulator.Racks(1, 1))
	s.change(first, want)
	s.reaches(first, bmov1alpha1.StateProvisioned)
	s.change(first, func(host *bmov1alpha1.BareMetalHost) {
		host.Annotations = map[string]string{bmov1alpha1.PausedAnnotation: "metal3.io/capm3"}
		host.Finalizers = nil
	})
	source := s.host(first)
	saved := source.Status.DeepCopy()
	saved.HardwareDetails = nil
	backup, err := json.Marshal(saved)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.client.Delete(t.Context(), source)).To(Succeed())
	s.gone(&bmov1alpha1.BareMetalHost{}, first)

	seen := s.watch(first)
	target := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: first, Labels: source.Labels,
		Annotations: map[string]string{bmov1alpha1.PausedAnnotation: "metal3.io/capm3", bmov1alpha1.StatusAnnotation: string(backup)},
	}, Spec: source.Spec}
	s.Expect(s.client.Create(t.Context(), target)).To(Succeed())
	s.Consistently(func() *metav1.Time { return s.host(first).Status.LastUpdated }, time.Second).Should(BeNil())
	s.change(first, func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, bmov1alpha1.PausedAnnotation) })
	s.eventually(first, func(host *bmov1alpha1.BareMetalHost) bool {
		return host.Status.HardwareDetails != nil && len(host.Annotations) == 0
	}, "status and hardware are back")
	s.Expect(s.host(first).Status.Provisioning).To(Equal(saved.Provisioning))
	s.Expect(seen.seen()).To(Equal([]bmov1alpha1.ProvisioningState{bmov1alpha1.StateProvisioned}))
	s.Expect(on.Load()).To(BeEquivalentTo(1), "it runs on")
}

func TestPlacements(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	layout := simulator.Layout{Ready: true, Domains: []simulator.Domain{
		{Name: "a", Hosts: 2, Labels: map[string]string{"size": "large"}}, {Hosts: 1},
	}}
	s.create(layout)
	s.change("a-host-002", want)
	placements, err := simulator.Placements(t.Context(), s.client, s.namespace)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(placements).To(Equal([]simulator.Placement{
		{Host: "a-host-001", Domain: "a", State: bmov1alpha1.StateAvailable, PoweredOn: true},
		{
			Host: "a-host-002", Domain: "a", State: bmov1alpha1.StateAvailable, PoweredOn: true,
			Consumer: "machine", Kind: "Metal3Machine",
		},
		{Host: "host-001", State: bmov1alpha1.StateAvailable, PoweredOn: true},
	}))
	s.Expect(simulator.ByDomain(placements)).To(Equal(map[string]int{"a": 1}))
	s.Expect(s.host("a-host-001").Labels).To(HaveKeyWithValue("size", "large"))
}

// TestAHostThatIsTakenWhileItIsCreatedBootsAsOthersDo covers a simulator and a consumer that are faster than Create.
func TestAHostThatIsTakenWhileItIsCreatedBootsAsOthersDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	taken := false
	faster := interceptor.NewClient(s.client, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption) error {
			if !taken {
				taken = true
				host := &bmov1alpha1.BareMetalHost{}
				s.Expect(c.Get(ctx, client.ObjectKeyFromObject(o), host)).To(Succeed())
				host.Status = o.(*bmov1alpha1.BareMetalHost).Status
				s.Expect(c.Status().Update(ctx, host)).To(Succeed())
				host.Spec.Online, host.Spec.Image = true, &bmov1alpha1.Image{URL: "https://images.example.com/node.qcow2", Checksum: "0123456789abcdef"}
				s.Expect(c.Update(ctx, host)).To(Succeed())
			}
			return c.SubResource(name).Update(ctx, o, options...)
		},
	})
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	s.Expect(simulator.Create(t.Context(), faster, s.namespace, layout)).To(Succeed())
	hosts := &bmov1alpha1.BareMetalHostList{}
	s.Expect(s.client.List(t.Context(), hosts, client.InNamespace(s.namespace))).To(Succeed())
	s.Expect(hosts.Items).To(HaveLen(1))
	s.Expect(hosts.Items[0].Status.Provisioning.State).To(Equal(bmov1alpha1.StateAvailable), "nobody has told that it boots")
}

func TestHostsThatTheOperatorsWebhookFindsInvalidAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.simulate()
	layout := simulator.Racks(1, 1)
	layout.Ready = true
	s.create(layout)
	for message, spoil := range map[string]func(*bmov1alpha1.BareMetalHost){
		"online set to false and have power off disabled": func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.Online, host.Spec.DisablePowerOff = false, true
		},
		"bootMACAddress can not be changed": func(host *bmov1alpha1.BareMetalHost) { host.Spec.BootMACAddress = "02:00:00:00:00:99" },
		"invalid operationalStatus or errorType": annotate(bmov1alpha1.StatusAnnotation,
			`{"operationalStatus":"servicing","errorMessage":"","poweredOn":true,"errorCount":0}`),
	} {
		s.Eventually(func() error {
			host := s.host(first)
			before := host.DeepCopy()
			spoil(host)
			return s.client.Patch(t.Context(), host, client.MergeFrom(before), client.DryRunAll)
		}).Should(MatchError(ContainSubstring(message)))
	}
	s.change(first, annotate(bmov1alpha1.StatusAnnotation, `{"operationalStatus":"error","errorType":"power management error","poweredOn":true}`))
}
