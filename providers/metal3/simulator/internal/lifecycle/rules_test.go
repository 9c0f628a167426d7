// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package lifecycle

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

func TestFinalizerIsFirst(t *testing.T) {
	t.Parallel()
	v := in("", with(func(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil }))
	NewWithT(t).Expect(Next(v)).To(Equal(Step{Finalize: true}))
}

// A move keeps the status in an annotation, without the hardware details, which are in the HardwareData.
func TestMovedHost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	moved := in(provisioned, wanting(image), running(image))
	backup, err := json.Marshal(moved.Host.Status)
	g.Expect(err).NotTo(HaveOccurred())
	v := in("", wanting(image), annotated(bmov1alpha1.StatusAnnotation, string(backup)))

	g.Expect(MachineOf(v.Host)).To(Equal(Booted), "it runs before anybody knows of it")
	restored := Next(v)
	g.Expect(restored).To(becomes(moved, provisioned, func(*bmov1alpha1.BareMetalHostStatus) {}))

	v.Host.Status = *restored.Status
	g.Expect(Next(v)).To(Equal(Step{Drop: []string{bmov1alpha1.StatusAnnotation}}))

	v.Host.Annotations, v.Machine = nil, MachineOf(v.Host)
	g.Expect(v.Machine).To(Equal(Booted), "it runs what it ran before")
	v.Recorded = &bmov1alpha1.HardwareDetails{Hostname: "known"}
	found := Next(v)
	g.Expect(found.Status.HardwareDetails).To(Equal(v.Recorded))

	v.Host.Status = *found.Status
	g.Expect(Next(v)).To(nothingToDo())
}

func TestHardwareDetailsAnnotation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(preparing, annotated(bmov1alpha1.HardwareDetailsAnnotation, `{"hostname":"given"}`))
	got := Next(v)
	g.Expect(got.Status.HardwareDetails.Hostname).To(Equal("given"))
	g.Expect(got.Publish).To(BeTrue())
	g.Expect(got.Drop).To(ConsistOf(bmov1alpha1.HardwareDetailsAnnotation))
}

func TestDetachment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(provisioned, wanting(image), running(image), annotated(bmov1alpha1.DetachedAnnotation, ""))
	got := Next(v)
	g.Expect(got).To(becomes(v, provisioned, func(s *bmov1alpha1.BareMetalHostStatus) {
		s.OperationalStatus = bmov1alpha1.OperationalStatusDetached
	}))
	v.Host.Status, v.Host.Annotations = *got.Status, nil
	g.Expect(Next(v).Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))

	busy := in(inspecting, early, annotated(bmov1alpha1.DetachedAnnotation, ""))
	g.Expect(Next(busy)).To(waiting(), "only a host that rests can be detached")
	busy.Host.Annotations[bmov1alpha1.DetachedAnnotation] = `{"force":true}`
	g.Expect(Next(busy).Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusDetached), "unless that is forced")

	rare := in(deprovisioning, detached(`{"force":true}`), deleted, unlit, early)
	g.Expect(Next(rare)).To(waiting(), "a detached host is looked at rarely")
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(available)
	v.Secret = ""
	gone := Next(v)
	g.Expect(gone.Status.ErrorType).To(Equal(bmov1alpha1.RegistrationError))
	g.Expect(gone.Status.ErrorMessage).To(Equal("BMC Secret default/rack-1-host-001-bmc does not exist"))
	g.Expect(gone.Status.Provisioning.State).To(Equal(available))

	v.Host.Status, v.Secret = *gone.Status, "8"
	back := Next(v)
	g.Expect(back.Status.ErrorMessage).To(BeEmpty())
	g.Expect(back.Status.ErrorCount).To(BeZero())
	g.Expect(back.Status.GoodCredentials.Version).To(Equal("8"))

	fresh := in("", func(v *View) { v.Secret = "" })
	g.Expect(Next(fresh).Status.ErrorType).To(Equal(bmov1alpha1.RegistrationError))
	g.Expect(Next(fresh).Status.Provisioning.State).To(BeEmpty())
}

func TestPowerFollowsTheSpec(t *testing.T) {
	t.Parallel()
	reboot, stayOff := annotated("reboot.metal3.io", ""), annotated("reboot.metal3.io/me", "")
	powerFailed := failed(bmov1alpha1.PowerManagementError, 2)
	for name, tc := range map[string]struct {
		v       View
		machine Machine
		powered bool
	}{
		"on":                                  {in(available, with(online)), Idle, true},
		"off":                                 {in(available, powered), Off, false},
		"provisioned, on":                     {in(provisioned, wanting(image), running(image), unpowered), Booted, true},
		"provisioned, off":                    {in(provisioned, wanting(image), running(image), with(offline)), Off, false},
		"reboot":                              {in(provisioned, wanting(image), running(image), reboot), Off, false},
		"reboot by another client":            {in(provisioned, wanting(image), running(image), stayOff), Off, false},
		"the status is behind":                {in(available, with(online), func(v *View) { v.Machine = Idle }), "", true},
		"externally provisioned system boots": {in(externallyProvisioned, with(online), with(foreign)), Booted, true},
		"the power is back after a fault":     {in(provisioned, wanting(image), running(image), unpowered, powerFailed), Booted, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := Next(tc.v)
			g.Expect(got.Machine).To(Equal(tc.machine))
			g.Expect(got.Status.PoweredOn).To(Equal(tc.powered))
			g.Expect(got.Status.Provisioning.State).To(Equal(tc.v.state()))
			g.Expect(got.Status.ErrorMessage).To(BeEmpty())
		})
	}
}

func unpowered(v *View) { v.Machine, v.Host.Status.PoweredOn = Off, false }

func offline(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false }

func foreign(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = true }

func TestReboot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	once := in(provisioned, wanting(image), running(image), unpowered, annotated("reboot.metal3.io", ""))
	g.Expect(Next(once)).To(Equal(Step{Drop: []string{"reboot.metal3.io"}}), "one reboot is over when the machine is off")

	held := in(provisioned, wanting(image), running(image), unpowered, annotated("reboot.metal3.io/me", ""))
	g.Expect(Next(held)).To(nothingToDo(), "until the client that powered it off removes its annotation")

	never := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io", ""),
		with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }))
	got := Next(never)
	g.Expect(got.Machine).To(Equal(Booted), "restarted without having been off")
	g.Expect(got.Drop).To(ConsistOf("reboot.metal3.io"))
}

func TestHungSystemIsPoweredOffHard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hung := func(v *View) { v.Fault.Hung = true }
	soft := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io/me", ""), hung)
	asked := Next(soft)
	g.Expect(asked.Machine).To(BeEmpty())
	g.Expect(asked.Status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError))
	soft.Host.Status, soft.Due = *asked.Status, false
	g.Expect(Next(soft)).To(waiting())
	soft.Due = true
	g.Expect(Next(soft).Machine).To(Equal(Off))

	hard := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io/me", `{"mode":"hard"}`), hung)
	g.Expect(Next(hard).Machine).To(Equal(Off))
	restart := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io", ""), hung,
		with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }))
	g.Expect(Next(restart).Machine).To(BeEmpty())
	restart.Host.Annotations["reboot.metal3.io"] = `{"mode":"hard"}`
	g.Expect(Next(restart).Machine).To(Equal(Booted))
}

// The status of a machine without power does not change, except for one condition.
func TestPowerLossIsOnlyACondition(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := in(provisioned, wanting(image), running(image))
	v := before
	v.Fault, v.Due = Fault{Dark: true}, false
	g.Expect(Next(v)).To(Equal(Step{Machine: Off}))
	v.Machine = Off
	g.Expect(Next(v)).To(waiting(), "the operator has not looked yet")

	v.Due = true
	lost := Next(v)
	g.Expect(lost).To(becomes(before, provisioned, func(*status) {}))
	v.Host = v.Host.DeepCopy()
	v.Host.Status = *lost.Status
	g.Expect(PowerFailure(v.Host)).To(BeTrue())
	g.Expect(v.Host.Status.PoweredOn).To(BeTrue())
	g.Expect(Next(v)).To(nothingToDo())

	v.Fault = Fault{}
	back := Next(v)
	g.Expect(back.Machine).To(BeEmpty())
	g.Expect(back.Status.PoweredOn).To(BeFalse(), "what the BMC answers is written before the machine is switched on")
	v.Host.Status = *back.Status
	g.Expect(PowerFailure(v.Host)).To(BeFalse())
	g.Expect(Next(v).Machine).To(Equal(Booted))
}

func TestPowerFailureDuringRegistration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	held := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io/me", ""), unlit)
	got := Next(held)
	g.Expect(got.Status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError))
	g.Expect(got.Status.PoweredOn).To(BeTrue())
	g.Expect(Next(in(registering, unlit)).Status.ErrorType).To(Equal(bmov1alpha1.RegistrationError))
}

func TestPowerOnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(provisioned, wanting(image), running(image), switchedOff)
	lost := Next(v)
	g.Expect(lost.Machine).To(Equal(Off))
	g.Expect(lost.Status.PoweredOn).To(BeFalse())
	g.Expect(lost.Status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError))
	g.Expect(lost.Status.Provisioning.State).To(Equal(provisioned))

	inspecting := in(inspecting, switchedOff, early)
	g.Expect(Next(inspecting).Status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError), "in the middle of its work")
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		v    View
		want map[string]string
	}{
		"registering":  {in(registering, early), map[string]string{"Manageable": "False Registering", "Ready": "False NotProvisioned", "Progressing": "True Registering"}},
		"unregistered": {in(registering, failed(bmov1alpha1.RegistrationError, 1)), map[string]string{"Manageable": "False RegistrationFailed", "Ready": "False Error"}},
		"inspecting":   {in(inspecting), map[string]string{"Manageable": "True Manageable", "Progressing": "True Inspecting"}},
		"available":    {in(available), map[string]string{"AvailableForProvisioning": "True Available", "Ready": "False NotProvisioned", "Healthy": "Unknown Unknown"}},
		"provisioned":  {in(provisioned), map[string]string{"Provisioned": "True Provisioned", "Ready": "True Provisioned", "Progressing": "False NotProgressing"}},
		"in error":     {in(provisioned, failed(bmov1alpha1.PowerManagementError, 1)), map[string]string{"Provisioned": "True Provisioned", "Ready": "False Error"}},
		"detached":     {in(provisioned, detached("")), map[string]string{"Manageable": "True Manageable", "Ready": "False Detached", "Progressing": "False Detached"}},
		"leaving":      {in(leaving, unlit), map[string]string{"Manageable": "True Manageable", "Progressing": "True Deleting"}},
		"no power":     {in(deprovisioning, unlit), map[string]string{"Manageable": "False PowerFailure", "Progressing": "True Deprovisioning"}},
		"no power yet": {in(registering, unlit), map[string]string{"Manageable": "False Registering"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, condition := range tc.v.conditionsOf(&tc.v.Host.Status) {
				got[condition.Type] = string(condition.Status) + " " + condition.Reason
			}
			for kind, value := range tc.want {
				NewWithT(t).Expect(got).To(HaveKeyWithValue(kind, value))
			}
		})
	}
}

func TestRebootAnnotationsAreRemovedByProvisioning(t *testing.T) {
	t.Parallel()
	for _, state := range []bmov1alpha1.ProvisioningState{provisioning, deprovisioning, inspecting} {
		v := in(state, wanting(image), annotated("reboot.metal3.io/me", ""))
		NewWithT(t).Expect(Next(v).Drop).To(ConsistOf("reboot.metal3.io/me"), string(state))
	}
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(available)
	v.Host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{CPU: bmov1alpha1.CPU{Arch: "aarch64"}}
	g.Expect(Next(v)).To(Equal(Step{Architecture: "aarch64"}))
	v.Host.Spec.Architecture = "x86_64"
	g.Expect(Next(v)).To(nothingToDo(), "a value of the user is kept")
}
