// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package lifecycle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

var (
	testTime = metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	earlier  = metav1.NewTime(testTime.Add(-time.Hour))
	image    = bmov1alpha1.Image{URL: "http://images/node.qcow2", Checksum: "http://images/node.sha256", ChecksumType: "sha256"}
	other    = bmov1alpha1.Image{URL: "http://images/other.qcow2", Checksum: "abc", ChecksumType: bmov1alpha1.MD5}
)

// The states, with short names for tables.
const (
	registering           = bmov1alpha1.StateRegistering
	inspecting            = bmov1alpha1.StateInspecting
	preparing             = bmov1alpha1.StatePreparing
	available             = bmov1alpha1.StateAvailable
	provisioning          = bmov1alpha1.StateProvisioning
	provisioned           = bmov1alpha1.StateProvisioned
	externallyProvisioned = bmov1alpha1.StateExternallyProvisioned
	deprovisioning        = bmov1alpha1.StateDeprovisioning
	poweringOff           = bmov1alpha1.StatePoweringOffBeforeDelete
	leaving               = bmov1alpha1.StateDeleting
	unmanaged             = bmov1alpha1.StateUnmanaged
)

type change func(*View)

// in returns a host that has reached a state without faults.
func in(state bmov1alpha1.ProvisioningState, changes ...change) View {
	host := bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "rack-1-host-001", UID: "d9f1", Finalizers: []string{bmov1alpha1.BareMetalHostFinalizer},
	}}
	host.Spec.BMC = bmov1alpha1.BMCDetails{Address: "redfish://rack-1-host-001.bmc.example.com", CredentialsName: "rack-1-host-001-bmc"}
	host.Status.Provisioning.State = state
	v := View{Host: &host, Secret: "7", Machine: Off, Due: true, Now: testTime, Inventory: &bmov1alpha1.HardwareDetails{Hostname: "found"}}
	if state != bmov1alpha1.StateNone {
		host.Status.LastUpdated = &earlier
		host.Status.TriedCredentials = v.credentials()
		host.Status.Provisioning.BootMode = bmov1alpha1.UEFI
	}
	switch state {
	case bmov1alpha1.StateNone, unmanaged, registering:
	default:
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
		host.Status.GoodCredentials = v.credentials()
		host.Status.HardwareProfile = "unknown"
	}
	switch state {
	case available, provisioning, provisioned:
		host.Status.Provisioning.RootDeviceHints = hintsOf(&host)
	}
	for _, change := range changes {
		change(&v)
	}
	if state != bmov1alpha1.StateNone {
		host.Status.Conditions = v.conditionsOf(&host.Status)
	}
	return v
}

func with(change func(*bmov1alpha1.BareMetalHost)) change { return func(v *View) { change(v.Host) } }

func annotated(key, value string) change {
	return with(func(host *bmov1alpha1.BareMetalHost) { host.Annotations = map[string]string{key: value} })
}

// wanting requests an image; running has one provisioned.
func wanting(image bmov1alpha1.Image) change {
	return with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online, host.Spec.Image = true, &image })
}

func running(image bmov1alpha1.Image) change {
	return func(v *View) {
		v.Host.Status.Provisioning.Image, v.Host.Status.PoweredOn, v.Machine = image, true, Booted
	}
}

func powered(v *View) { v.Machine, v.Host.Status.PoweredOn = Idle, true }

func online(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = true }

func deleted(v *View) { v.Host.DeletionTimestamp = &testTime }

func broken(v *View) { v.Fault.Message = "no answer" }

func unlit(v *View) { v.Fault, v.Machine = Fault{Dark: true}, Off }

func switchedOff(v *View) { v.Fault = Fault{Message: "no power", Off: true} }

func stuck(v *View) { v.Fault.Stuck = true }

func early(v *View) { v.Due = false }

// failed sets an error with this count.
func failed(kind bmov1alpha1.ErrorType, count int) change {
	return with(func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus, host.Status.ErrorType = bmov1alpha1.OperationalStatusError, kind
		host.Status.ErrorMessage, host.Status.ErrorCount = "no answer", count
	})
}

// nothingToDo and waiting match steps that write nothing.
func nothingToDo() types.GomegaMatcher { return Equal(Step{}) }

func waiting() types.GomegaMatcher { return Equal(Step{Wait: true}) }

// becomes matches a step whose status is that of the host with these changes. The conditions are derived.
func becomes(v View, state bmov1alpha1.ProvisioningState, change func(*status)) types.GomegaMatcher {
	want := v.Host.Status.DeepCopy()
	want.LastUpdated, want.Provisioning.State = &testTime, state
	change(want)
	want.Conditions = nil
	return WithTransform(func(s Step) *status {
		got := s.Status.DeepCopy()
		got.Conditions = nil
		return got
	}, Equal(want))
}

func started(metric *bmov1alpha1.OperationMetric) {
	*metric = bmov1alpha1.OperationMetric{Start: testTime}
}

func ended(metric *bmov1alpha1.OperationMetric) { metric.End = testTime }

// transition is a row of the table of the operator's transitions.
type transition struct {
	from   View
	to     bmov1alpha1.ProvisioningState
	writes func(View, *status)
}

type status = bmov1alpha1.BareMetalHostStatus

func check(t *testing.T, transitions map[string]transition) {
	t.Helper()
	for name, tc := range transitions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Next(tc.from)).To(becomes(tc.from, tc.to, func(s *status) { tc.writes(tc.from, s) }))
		})
	}
}

func TestEnrolment(t *testing.T) {
	t.Parallel()
	hints := &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sdb"}
	hinted := with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.RootDeviceHints = hints })
	check(t, map[string]transition{
		"a host without BMC is only discovered": {
			in("", with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.BMC = bmov1alpha1.BMCDetails{} })), unmanaged,
			func(_ View, s *status) { s.OperationalStatus = bmov1alpha1.OperationalStatusDiscovered },
		},
		"a host with BMC is registered": {
			in(""), registering,
			func(v View, s *status) {
				started(&s.OperationHistory.Register)
				s.Provisioning.BootMode, s.TriedCredentials = bmov1alpha1.UEFI, v.credentials()
			},
		},
		"a registered host is inspected": {
			in(registering), inspecting,
			func(v View, s *status) {
				ended(&s.OperationHistory.Register)
				started(&s.OperationHistory.Inspect)
				s.Provisioning.ID, s.GoodCredentials = provisioningID(v.Host), v.credentials()
				s.HardwareProfile, s.OperationalStatus = "unknown", bmov1alpha1.OperationalStatusOK
			},
		},
		"an inspected host is prepared": {
			in(inspecting), preparing,
			func(v View, s *status) {
				ended(&s.OperationHistory.Inspect)
				s.HardwareDetails = v.Inventory
			},
		},
		"a prepared host is available": {
			in(preparing, hinted),
			available,
			func(_ View, s *status) { s.Provisioning.RootDeviceHints = hints },
		},
	})
}

func TestProvisioning(t *testing.T) {
	t.Parallel()
	hinted := func(v *View) {
		v.Host.Status.Provisioning.RootDeviceHints = &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sdb"}
	}
	check(t, map[string]transition{
		"an available host with an image is provisioned": {
			in(available, wanting(image)), provisioning,
			func(_ View, s *status) { started(&s.OperationHistory.Provision) },
		},
		"a host ends provisioning": {
			in(provisioning, wanting(image)), provisioned,
			func(_ View, s *status) {
				ended(&s.OperationHistory.Provision)
				s.Provisioning.Image = image
			},
		},
		"a host whose image is taken away is deprovisioned": {
			in(provisioned, running(image)), deprovisioning,
			func(_ View, s *status) { started(&s.OperationHistory.Deprovision) },
		},
		"a host whose image is changed is deprovisioned": {
			in(provisioned, running(image), wanting(other)), deprovisioning,
			func(_ View, s *status) { started(&s.OperationHistory.Deprovision) },
		},
		"a host is cleaned": {
			in(deprovisioning, running(image), hinted),
			available,
			func(_ View, s *status) {
				ended(&s.OperationHistory.Deprovision)
				s.Provisioning.Image, s.Provisioning.RootDeviceHints = bmov1alpha1.Image{}, nil
			},
		},
		"a host is switched off before it is deleted": {
			in(poweringOff, powered, deleted), leaving,
			func(_ View, s *status) { s.PoweredOn = false },
		},
	})
}

// entry is a step into a state, whatever else it writes.
type entry struct {
	from View
	to   bmov1alpha1.ProvisioningState
}

func checkStates(t *testing.T, entries map[string]entry) {
	t.Helper()
	for name, tc := range entries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := Next(tc.from)
			g.Expect(got.Status).NotTo(BeNil())
			g.Expect(got.Status.Provisioning.State).To(Equal(tc.to))
		})
	}
}

func TestStatesFollowTheSpec(t *testing.T) {
	t.Parallel()
	custom := &bmov1alpha1.CustomDeploy{Method: "install"}
	liveISO := bmov1alpha1.Image{URL: "http://images/live.iso", DiskFormat: ptr.To("live-iso")}

	inspected := with(func(host *bmov1alpha1.BareMetalHost) { host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{} })
	striped := with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.RAID = &bmov1alpha1.RAIDConfig{} })
	runningCustom := with(func(host *bmov1alpha1.BareMetalHost) { host.Status.Provisioning.CustomDeploy = custom })
	startedOther := func(v *View) { v.Started = other.URL }
	provisioningFailed := failed(bmov1alpha1.ProvisioningError, 1)
	customised := with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online, host.Spec.CustomDeploy = true, custom })
	checkStates(t, map[string]entry{
		"inspection disabled in the spec": {in(registering, with(func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.InspectionMode = bmov1alpha1.InspectionModeDisabled
		})), preparing},
		"inspection disabled by annotation": {
			in(registering, annotated(bmov1alpha1.InspectAnnotationPrefix, "disabled")), preparing,
		},
		"hardware known already":                  {in(registering, inspected), preparing},
		"externally provisioned":                  {in(registering, external(true)), externallyProvisioned},
		"externally provisioned later":            {in(available, external(true)), externallyProvisioned},
		"no longer externally provisioned":        {in(externallyProvisioned), inspecting},
		"inspection wanted again":                 {in(available, annotated(bmov1alpha1.InspectAnnotationPrefix, "")), inspecting},
		"settings changed":                        {in(available, striped), preparing},
		"a BMC appears":                           {in(unmanaged), registering},
		"custom deployment":                       {in(available, customised), provisioning},
		"custom deployment ends":                  {in(provisioning, customised), provisioned},
		"custom deployment taken away":            {in(provisioned, runningCustom), deprovisioning},
		"live ISO needs no checksum":              {in(provisioning, wanting(liveISO)), provisioned},
		"image taken away while it is written":    {in(provisioning, early), deprovisioning},
		"image changed while it is written":       {in(provisioning, early, wanting(image), startedOther), deprovisioning},
		"provisioning failed":                     {in(provisioning, wanting(image), provisioningFailed), deprovisioning},
		"released without power":                  {in(provisioned, running(image), unlit), deprovisioning},
		"prepared again after an image":           {in(available, unprepared), preparing},
		"released when it cannot be switched on":  {in(provisioned, running(image), unpowered, switchedOff), deprovisioning},
		"retried at once when the Secret is back": {in(registering, early, failed(bmov1alpha1.RegistrationError, 1)), inspecting},
	})
}

func TestDeletionIsPossibleInEveryState(t *testing.T) {
	t.Parallel()
	hopeless := failed(bmov1alpha1.PowerManagementError, attempts)
	checkStates(t, map[string]entry{
		"before it was known":           {in("", deleted), leaving},
		"while unmanaged":               {in(unmanaged, deleted), leaving},
		"while registering":             {in(registering, deleted), leaving},
		"while externally provisioned":  {in(externallyProvisioned, external(true), deleted), leaving},
		"while inspecting":              {in(inspecting, deleted, early), poweringOff},
		"while available":               {in(available, deleted), poweringOff},
		"while stuck":                   {in(preparing, stuck, deleted), poweringOff},
		"without a Secret":              {in(available, deleted, func(v *View) { v.Secret = "" }), poweringOff},
		"while provisioning":            {in(provisioning, wanting(image), deleted, early), deprovisioning},
		"while provisioned":             {in(provisioned, wanting(image), running(image), deleted), deprovisioning},
		"while deprovisioning":          {in(deprovisioning, deleted), poweringOff},
		"though cleaning keeps failing": {in(deprovisioning, deleted, broken, hopeless), poweringOff},
		"though it cannot be switched":  {in(poweringOff, deleted, switchedOff, hopeless), leaving},
		"though it has no power":        {in(poweringOff, deleted, unlit, hopeless), leaving},
		"while detached by force":       {in(deprovisioning, running(image), detached(`{"force":true}`), deleted, unlit), leaving},
		"while detached":                {in(provisioned, wanting(image), running(image), detached(`{}`), deleted), leaving},
	})
}

func detached(arguments string) change {
	return func(v *View) {
		annotated(bmov1alpha1.DetachedAnnotation, arguments)(v)
		v.Host.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]View{
		"paused":                              in("", annotated(bmov1alpha1.PausedAnnotation, "metal3.io/capm3")),
		"paused and deleted":                  in(available, annotated(bmov1alpha1.PausedAnnotation, ""), deleted),
		"deleted and released":                in(available, deleted, with(released)),
		"available and off":                   in(available),
		"available and on":                    in(available, with(online), powered),
		"claimed, but without image":          in(available, with(claimed)),
		"image for a host that should be off": in(available, wanting(image), with(offline)),
		"provisioned":                         in(provisioned, wanting(image), running(image)),
		"detached":                            in(provisioned, running(image), detached("")),
		"deletion waits for attachment":       in(provisioned, running(image), detached(`{"deleteAction":"delay"}`), deleted),
		"stuck":                               in(provisioning, wanting(image), stuck),
		"without power, inspecting":           in(inspecting, unlit),
		"without power, preparing":            in(preparing, unlit),
		"without power, provisioning":         in(provisioning, wanting(image), unlit),
		"without power, provisioned":          in(provisioned, wanting(image), running(image), unlit),
		"without power, deprovisioning":       in(deprovisioning, unlit),
		"without power, deleted":              in(deprovisioning, unlit, deleted, failed(bmov1alpha1.ProvisioningError, attempts)),
		"without power, detached, deleted":    in(deprovisioning, unlit, deleted, annotated(bmov1alpha1.DetachedAnnotation, "")),
		"without Secret, said already": in(available, func(v *View) {
			v.Secret = ""
			v.Host.Status.ErrorType = bmov1alpha1.RegistrationError
			v.Host.Status.ErrorMessage = "BMC Secret default/rack-1-host-001-bmc does not exist"
		}),
		"may not be off": in(available, powered, with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true })),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Next(v)).To(nothingToDo())
		})
	}
}

func released(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil }

func unprepared(v *View) { v.Host.Status.Provisioning.RootDeviceHints = nil }

func claimed(host *bmov1alpha1.BareMetalHost) {
	host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: host.Namespace, Name: "machine"}
}

func TestOperationsWaitForDelay(t *testing.T) {
	t.Parallel()
	for _, state := range []bmov1alpha1.ProvisioningState{
		registering, inspecting, preparing, provisioning,
		deprovisioning,
	} {
		NewWithT(t).Expect(Next(in(state, wanting(image), early))).To(waiting(), string(state))
	}
	g := NewWithT(t)
	g.Expect(Next(in(available, early, with(online)))).To(waiting(), "power")
	g.Expect(Next(in(poweringOff, early, deleted))).To(waiting())
	g.Expect(Next(in(leaving, deleted))).To(Equal(Step{Retract: true, Release: true}))
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for state, kind := range map[bmov1alpha1.ProvisioningState]bmov1alpha1.ErrorType{
		registering:           bmov1alpha1.RegistrationError,
		inspecting:            bmov1alpha1.InspectionError,
		preparing:             bmov1alpha1.PreparationError,
		available:             bmov1alpha1.PowerManagementError,
		provisioning:          bmov1alpha1.ProvisioningError,
		provisioned:           bmov1alpha1.PowerManagementError,
		externallyProvisioned: bmov1alpha1.PowerManagementError,
		deprovisioning:        bmov1alpha1.ProvisioningError,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := in(state, wanting(image), running(image), broken)
			v.Host.Spec.ExternallyProvisioned = state == externallyProvisioned
			failure := func(count int) func(*status) {
				return func(s *status) {
					s.OperationalStatus, s.ErrorType = bmov1alpha1.OperationalStatusError, kind
					s.ErrorMessage, s.ErrorCount = "no answer", count
				}
			}
			got := Next(v)
			g.Expect(got).To(becomes(v, state, failure(1)))
			g.Expect(got.Events).To(HaveLen(1))

			v.Host.Status, v.Due = *got.Status, false
			g.Expect(Next(v)).To(waiting(), "the next try is later")
			v.Due = true
			if state != provisioning {
				g.Expect(Next(v)).To(becomes(v, state, failure(2)))
			}
			v.Fault, v.Due = Fault{}, false
			if healed := Next(v); state != provisioning {
				g.Expect(healed.Status.ErrorMessage).To(BeEmpty())
				g.Expect(healed.Status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))
				g.Expect(healed.Status.ErrorCount).To(BeZero())
			}
		})
	}
}

func TestImageWithoutChecksum(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := Next(in(provisioning, wanting(bmov1alpha1.Image{URL: "http://images/node.qcow2"})))
	g.Expect(got.Status.ErrorType).To(Equal(bmov1alpha1.ProvisioningError))
	g.Expect(got.Status.ErrorMessage).To(ContainSubstring("checksum"))
	g.Expect(got.Status.Provisioning.State).To(Equal(provisioning))
}
