// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

func TestTheFinalizerComesFirst(t *testing.T) {
	t.Parallel()
	v := in("", with(func(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil }))
	NewWithT(t).Expect(next(v)).To(Equal(step{finalize: true}))
}

// Moving a host leaves its status in an annotation, without the hardware, which comes with the HardwareData.
func TestAMovedHostIsRestored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	moved := in(provisioned, wanting(image), running(image))
	backup, err := json.Marshal(moved.host.Status)
	g.Expect(err).NotTo(HaveOccurred())
	v := in("", wanting(image), annotated(bmov1alpha1.StatusAnnotation, string(backup)))

	g.Expect(machineOf(v.host)).To(Equal(booted), "it runs before anybody knows of it")
	restored := next(v)
	g.Expect(restored).To(becomes(moved, provisioned, func(*bmov1alpha1.BareMetalHostStatus) {}))

	v.host.Status = *restored.status
	g.Expect(next(v)).To(Equal(step{drop: []string{bmov1alpha1.StatusAnnotation}}))

	v.host.Annotations, v.machine = nil, machineOf(v.host)
	g.Expect(v.machine).To(Equal(booted), "it runs what it ran before")
	v.recorded = &bmov1alpha1.HardwareDetails{Hostname: "known"}
	found := next(v)
	g.Expect(found.status.HardwareDetails).To(Equal(v.recorded))

	v.host.Status = *found.status
	g.Expect(next(v)).To(nothingToDo())
}

func TestAnAnnotationGivesTheHardware(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(preparing, annotated(bmov1alpha1.HardwareDetailsAnnotation, `{"hostname":"given"}`))
	got := next(v)
	g.Expect(got.status.HardwareDetails.Hostname).To(Equal("given"))
	g.Expect(got.publish).To(BeTrue())
	g.Expect(got.drop).To(ConsistOf(bmov1alpha1.HardwareDetailsAnnotation))
}

func TestDetachmentIsAnOperationalStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(provisioned, wanting(image), running(image), annotated(bmov1alpha1.DetachedAnnotation, ""))
	got := next(v)
	g.Expect(got).To(becomes(v, provisioned, func(s *bmov1alpha1.BareMetalHostStatus) {
		s.OperationalStatus = bmov1alpha1.OperationalStatusDetached
	}))
	v.host.Status, v.host.Annotations = *got.status, nil
	g.Expect(next(v).status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))

	busy := in(inspecting, early, annotated(bmov1alpha1.DetachedAnnotation, ""))
	g.Expect(next(busy)).To(waiting(), "only a host that rests can be detached")
}

func TestCredentialsAreLookedAfter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(available)
	v.secret = ""
	gone := next(v)
	g.Expect(gone.status.ErrorType).To(Equal(bmov1alpha1.RegistrationError))
	g.Expect(gone.status.ErrorMessage).To(Equal("BMC Secret default/rack-1-host-001-bmc does not exist"))
	g.Expect(gone.status.Provisioning.State).To(Equal(available))

	v.host.Status, v.secret = *gone.status, "8"
	back := next(v)
	g.Expect(back.status.ErrorMessage).To(BeEmpty())
	g.Expect(back.status.ErrorCount).To(BeZero())
	g.Expect(back.status.GoodCredentials.Version).To(Equal("8"))

	fresh := in("", func(v *view) { v.secret = "" })
	g.Expect(next(fresh).status.ErrorType).To(Equal(bmov1alpha1.RegistrationError))
	g.Expect(next(fresh).status.Provisioning.State).To(BeEmpty())
}

func TestPowerFollowsTheSpec(t *testing.T) {
	t.Parallel()
	reboot, stayOff := annotated("reboot.metal3.io", ""), annotated("reboot.metal3.io/me", "")
	powerFailed := failed(bmov1alpha1.PowerManagementError, 2)
	for name, tc := range map[string]struct {
		v       view
		machine machine
		powered bool
	}{
		"on":                              {in(available, with(online)), idle, true},
		"off":                             {in(available, powered), off, false},
		"provisioned, on":                 {in(provisioned, wanting(image), running(image), unpowered), booted, true},
		"provisioned, off":                {in(provisioned, wanting(image), running(image), with(offline)), off, false},
		"reboot":                          {in(provisioned, wanting(image), running(image), reboot), off, false},
		"reboot for somebody":             {in(provisioned, wanting(image), running(image), stayOff), off, false},
		"the status is behind":            {in(available, with(online), func(v *view) { v.machine = idle }), "", true},
		"somebody else's system boots":    {in(somebodyElses, with(online), with(foreign)), booted, true},
		"the power is back after a fault": {in(provisioned, wanting(image), running(image), unpowered, powerFailed), booted, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := next(tc.v)
			g.Expect(got.machine).To(Equal(tc.machine))
			g.Expect(got.status.PoweredOn).To(Equal(tc.powered))
			g.Expect(got.status.Provisioning.State).To(Equal(tc.v.state()))
			g.Expect(got.status.ErrorMessage).To(BeEmpty())
		})
	}
}

func unpowered(v *view) { v.machine, v.host.Status.PoweredOn = off, false }

func offline(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false }

func foreign(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = true }

func TestAReboot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	once := in(provisioned, wanting(image), running(image), unpowered, annotated("reboot.metal3.io", ""))
	g.Expect(next(once)).To(Equal(step{drop: []string{"reboot.metal3.io"}}), "one reboot is over when the machine is off")

	held := in(provisioned, wanting(image), running(image), unpowered, annotated("reboot.metal3.io/me", ""))
	g.Expect(next(held)).To(nothingToDo(), "until whoever wanted it off lets it go on")

	never := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io", ""),
		with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }))
	got := next(never)
	g.Expect(got.machine).To(Equal(booted), "restarted without having been off")
	g.Expect(got.drop).To(ConsistOf("reboot.metal3.io"))
}

func TestASystemThatHangsIsAskedOnceAndThenForced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hung := func(v *view) { v.fault.hung = true }
	soft := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io/me", ""), hung)
	asked := next(soft)
	g.Expect(asked.machine).To(BeEmpty())
	g.Expect(asked.status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError))
	soft.host.Status, soft.due = *asked.status, false
	g.Expect(next(soft)).To(waiting())
	soft.due = true
	g.Expect(next(soft).machine).To(Equal(off))

	hard := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io/me", `{"mode":"hard"}`), hung)
	g.Expect(next(hard).machine).To(Equal(off))
	restart := in(provisioned, wanting(image), running(image), annotated("reboot.metal3.io", ""), hung,
		with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true }))
	g.Expect(next(restart).machine).To(BeEmpty())
	restart.host.Annotations["reboot.metal3.io"] = `{"mode":"hard"}`
	g.Expect(next(restart).machine).To(Equal(booted))
}

func TestALostDomainIsDark(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := in(provisioned, wanting(image), running(image), unlit)
	lost := next(v)
	g.Expect(lost.machine).To(Equal(off))
	g.Expect(lost.status.PoweredOn).To(BeFalse())
	g.Expect(lost.status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError))
	g.Expect(lost.status.Provisioning.State).To(Equal(provisioned))

	inspecting := in(inspecting, unlit, early)
	g.Expect(next(inspecting).status.ErrorType).To(Equal(bmov1alpha1.PowerManagementError), "in the middle of its work")
}

func TestDelays(t *testing.T) {
	t.Parallel()
	d := Delays{
		Registering: 1, Inspecting: 2, Preparing: 3, Provisioning: 4, Deprovisioning: 5, Cleaning: 100, Power: 6, Retry: time.Second,
	}
	uncleaned := with(func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	})
	for name, tc := range map[string]struct {
		v    view
		want time.Duration
	}{
		"registering":              {in(registering), 1},
		"inspecting":               {in(inspecting), 2},
		"preparing":                {in(preparing), 103},
		"preparing uncleaned":      {in(preparing, uncleaned), 3},
		"provisioning":             {in(provisioning), 4},
		"deprovisioning":           {in(deprovisioning), 105},
		"deprovisioning uncleaned": {in(deprovisioning, uncleaned), 5},
		"available":                {in(available), 0},
		"switched on":              {in(available, with(online)), 6},
		"switched off":             {in(provisioned, running(image)), 6},
		"failed once":              {in(inspecting, failed(bmov1alpha1.InspectionError, 1)), time.Second},
		"failed thrice":            {in(inspecting, failed(bmov1alpha1.InspectionError, 3)), 4 * time.Second},
		"failed ever again":        {in(inspecting, failed(bmov1alpha1.InspectionError, 99)), 64 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(d.of(phaseOf(tc.v.host, tc.v.machine))).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	g.Expect(Delays{Jitter: 0.2}.jittered(10*time.Second, 0)).To(Equal(8 * time.Second))
	g.Expect(Delays{Jitter: 0.2}.jittered(10*time.Second, 1)).To(Equal(12 * time.Second))
}

func TestTheSameSeedDrawsTheSameDelays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	delays := Delays{Inspecting: time.Minute, Jitter: 0.5}
	until := func(seed uint64) time.Time {
		return newProgressTable(delays, seed).look(in(inspecting).host, testTime.Time).until
	}
	g.Expect(until(3)).To(Equal(until(3)))
	g.Expect(until(3)).NotTo(Equal(until(4)))
}
