// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

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
	image    = bmov1alpha1.Image{URL: "http://images/node.qcow2", Checksum: "http://images/node.sha256", ChecksumType: bmov1alpha1.SHA256}
	other    = bmov1alpha1.Image{URL: "http://images/other.qcow2", Checksum: "abc", ChecksumType: bmov1alpha1.MD5}
)

type change func(*view)

// in is a host that has reached a state without trouble.
func in(state bmov1alpha1.ProvisioningState, changes ...change) view {
	host := Racks(1, 1).Hosts("default")[0]
	host.UID = "d9f1"
	host.Finalizers = []string{bmov1alpha1.BareMetalHostFinalizer}
	host.Spec.Online = false
	host.Status.Provisioning.State = state
	v := view{host: &host, secret: "7", machine: off, due: true, now: testTime, inventory: StandardInventory(&host)}
	if state != bmov1alpha1.StateNone {
		host.Status.LastUpdated = &earlier
		host.Status.TriedCredentials = v.credentials()
		host.Status.Provisioning.BootMode = bmov1alpha1.UEFI
	}
	switch state {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering:
	default:
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusOK
		host.Status.GoodCredentials = v.credentials()
		host.Status.HardwareProfile = "unknown"
	}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func with(change func(*bmov1alpha1.BareMetalHost)) change { return func(v *view) { change(v.host) } }

func annotated(key, value string) change {
	return with(func(host *bmov1alpha1.BareMetalHost) { host.Annotations = map[string]string{key: value} })
}

// wanting asks for an image; running is what has been provisioned.
func wanting(image bmov1alpha1.Image) change {
	return with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online, host.Spec.Image = true, &image })
}

func running(image bmov1alpha1.Image) change {
	return func(v *view) {
		v.host.Status.Provisioning.Image, v.host.Status.PoweredOn, v.machine = image, true, booted
	}
}

func powered(v *view) { v.machine, v.host.Status.PoweredOn = idle, true }

func online(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = true }

func deleted(v *view) { v.host.DeletionTimestamp = &testTime }

func broken(v *view) { v.fault.message = "no answer" }

func unlit(v *view) { v.fault = fault{message: "no power", dark: true} }

func stuck(v *view) { v.fault.stuck = true }

func early(v *view) { v.due = false }

// failed is a host that has recorded an error, so and so many times.
func failed(kind bmov1alpha1.ErrorType, count int) change {
	return with(func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus, host.Status.ErrorType = bmov1alpha1.OperationalStatusError, kind
		host.Status.ErrorMessage, host.Status.ErrorCount = "no answer", count
	})
}

// nothingToDo and waiting are steps that write nothing.
func nothingToDo() types.GomegaMatcher { return Equal(step{}) }

func waiting() types.GomegaMatcher { return Equal(step{wait: true}) }

// becomes matches a step whose status is what the host's was with these changes.
func becomes(v view, state bmov1alpha1.ProvisioningState, change func(*bmov1alpha1.BareMetalHostStatus)) types.GomegaMatcher {
	want := v.host.Status.DeepCopy()
	want.LastUpdated, want.Provisioning.State = &testTime, state
	change(want)
	return WithTransform(func(s step) *bmov1alpha1.BareMetalHostStatus { return s.status }, Equal(want))
}

func started(metric *bmov1alpha1.OperationMetric) {
	*metric = bmov1alpha1.OperationMetric{Start: testTime}
}

func ended(metric *bmov1alpha1.OperationMetric) { metric.End = testTime }

// The rows of the table of the operator's transitions.
func TestTransitionsWriteTheOperatorsFields(t *testing.T) {
	t.Parallel()
	type status = bmov1alpha1.BareMetalHostStatus
	hints := &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/sdb"}
	for name, tc := range map[string]struct {
		from   view
		to     bmov1alpha1.ProvisioningState
		writes func(view, *status)
	}{
		"a host without BMC is only discovered": {
			in("", with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.BMC = bmov1alpha1.BMCDetails{} })), bmov1alpha1.StateUnmanaged,
			func(_ view, s *status) { s.OperationalStatus = bmov1alpha1.OperationalStatusDiscovered },
		},
		"a host with BMC is registered": {
			in(""), bmov1alpha1.StateRegistering,
			func(v view, s *status) {
				started(&s.OperationHistory.Register)
				s.Provisioning.BootMode, s.TriedCredentials = bmov1alpha1.UEFI, v.credentials()
			},
		},
		"a registered host is inspected": {
			in(bmov1alpha1.StateRegistering), bmov1alpha1.StateInspecting,
			func(v view, s *status) {
				ended(&s.OperationHistory.Register)
				started(&s.OperationHistory.Inspect)
				s.Provisioning.ID, s.GoodCredentials = provisioningID(v.host), v.credentials()
				s.HardwareProfile, s.OperationalStatus = "unknown", bmov1alpha1.OperationalStatusOK
			},
		},
		"an inspected host is prepared": {
			in(bmov1alpha1.StateInspecting), bmov1alpha1.StatePreparing,
			func(v view, s *status) {
				ended(&s.OperationHistory.Inspect)
				s.HardwareDetails = v.inventory
			},
		},
		"a prepared host is available": {
			in(bmov1alpha1.StatePreparing, with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.RootDeviceHints = hints })),
			bmov1alpha1.StateAvailable,
			func(_ view, s *status) { s.Provisioning.RootDeviceHints = hints },
		},
		"an available host with an image is provisioned": {
			in(bmov1alpha1.StateAvailable, wanting(image)), bmov1alpha1.StateProvisioning,
			func(_ view, s *status) { started(&s.OperationHistory.Provision) },
		},
		"a host ends provisioning": {
			in(bmov1alpha1.StateProvisioning, wanting(image)), bmov1alpha1.StateProvisioned,
			func(_ view, s *status) {
				ended(&s.OperationHistory.Provision)
				s.Provisioning.Image, s.PoweredOn = image, true
			},
		},
		"a host whose image is taken away is deprovisioned": {
			in(bmov1alpha1.StateProvisioned, running(image)), bmov1alpha1.StateDeprovisioning,
			func(_ view, s *status) { started(&s.OperationHistory.Deprovision) },
		},
		"a host whose image is changed is deprovisioned": {
			in(bmov1alpha1.StateProvisioned, running(image), wanting(other)), bmov1alpha1.StateDeprovisioning,
			func(_ view, s *status) { started(&s.OperationHistory.Deprovision) },
		},
		"a host is cleaned": {
			in(bmov1alpha1.StateDeprovisioning, running(image), func(v *view) { v.host.Status.Provisioning.RootDeviceHints = hints }),
			bmov1alpha1.StateAvailable,
			func(_ view, s *status) {
				ended(&s.OperationHistory.Deprovision)
				s.Provisioning.Image, s.Provisioning.RootDeviceHints = bmov1alpha1.Image{}, nil
			},
		},
		"a host is switched off before it is deleted": {
			in(bmov1alpha1.StatePoweringOffBeforeDelete, powered, deleted), bmov1alpha1.StateDeleting,
			func(_ view, s *status) { s.PoweredOn = false },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(next(tc.from)).To(becomes(tc.from, tc.to, func(s *status) { tc.writes(tc.from, s) }))
		})
	}
}

func TestStatesFollowTheSpec(t *testing.T) {
	t.Parallel()
	custom := &bmov1alpha1.CustomDeploy{Method: "install"}
	liveISO := bmov1alpha1.Image{URL: "http://images/live.iso", DiskFormat: ptr.To("live-iso")}
	external := with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = true })
	customised := with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online, host.Spec.CustomDeploy = true, custom })
	for name, tc := range map[string]struct {
		from view
		to   bmov1alpha1.ProvisioningState
	}{
		"inspection disabled in the spec": {in(bmov1alpha1.StateRegistering, with(func(host *bmov1alpha1.BareMetalHost) {
			host.Spec.InspectionMode = bmov1alpha1.InspectionModeDisabled
		})), bmov1alpha1.StatePreparing},
		"inspection disabled by annotation": {
			in(bmov1alpha1.StateRegistering, annotated(bmov1alpha1.InspectAnnotationPrefix, "disabled")), bmov1alpha1.StatePreparing,
		},
		"hardware known already":                  {in(bmov1alpha1.StateRegistering, with(func(host *bmov1alpha1.BareMetalHost) { host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{} })), bmov1alpha1.StatePreparing},
		"provisioned by somebody else":            {in(bmov1alpha1.StateRegistering, external), bmov1alpha1.StateExternallyProvisioned},
		"provisioned by somebody else, later":     {in(bmov1alpha1.StateAvailable, external), bmov1alpha1.StateExternallyProvisioned},
		"no longer provisioned by somebody else":  {in(bmov1alpha1.StateExternallyProvisioned), bmov1alpha1.StateInspecting},
		"inspection wanted again":                 {in(bmov1alpha1.StateAvailable, annotated(bmov1alpha1.InspectAnnotationPrefix, "")), bmov1alpha1.StateInspecting},
		"settings changed":                        {in(bmov1alpha1.StateAvailable, with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.RAID = &bmov1alpha1.RAIDConfig{} })), bmov1alpha1.StatePreparing},
		"a BMC appears":                           {in(bmov1alpha1.StateUnmanaged), bmov1alpha1.StateRegistering},
		"custom deployment":                       {in(bmov1alpha1.StateAvailable, customised), bmov1alpha1.StateProvisioning},
		"custom deployment ends":                  {in(bmov1alpha1.StateProvisioning, customised), bmov1alpha1.StateProvisioned},
		"custom deployment taken away":            {in(bmov1alpha1.StateProvisioned, with(func(host *bmov1alpha1.BareMetalHost) { host.Status.Provisioning.CustomDeploy = custom })), bmov1alpha1.StateDeprovisioning},
		"live ISO needs no checksum":              {in(bmov1alpha1.StateProvisioning, wanting(liveISO)), bmov1alpha1.StateProvisioned},
		"image taken away while it is written":    {in(bmov1alpha1.StateProvisioning, early), bmov1alpha1.StateDeprovisioning},
		"image changed while it is written":       {in(bmov1alpha1.StateProvisioning, early, wanting(image), func(v *view) { v.started = other.URL }), bmov1alpha1.StateDeprovisioning},
		"provisioning failed":                     {in(bmov1alpha1.StateProvisioning, wanting(image), failed(bmov1alpha1.ProvisioningError, 1)), bmov1alpha1.StateDeprovisioning},
		"deleted before it was known":             {in("", deleted), bmov1alpha1.StateDeleting},
		"deleted while unmanaged":                 {in(bmov1alpha1.StateUnmanaged, deleted), bmov1alpha1.StateDeleting},
		"deleted while registering":               {in(bmov1alpha1.StateRegistering, deleted), bmov1alpha1.StateDeleting},
		"deleted while somebody else's":           {in(bmov1alpha1.StateExternallyProvisioned, external, deleted), bmov1alpha1.StateDeleting},
		"deleted while inspecting":                {in(bmov1alpha1.StateInspecting, deleted, early), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted while available":                 {in(bmov1alpha1.StateAvailable, deleted), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted while stuck":                     {in(bmov1alpha1.StatePreparing, stuck, deleted), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted without a Secret":                {in(bmov1alpha1.StateAvailable, deleted, func(v *view) { v.secret = "" }), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted while provisioning":              {in(bmov1alpha1.StateProvisioning, wanting(image), deleted, early), bmov1alpha1.StateDeprovisioning},
		"deleted while provisioned":               {in(bmov1alpha1.StateProvisioned, wanting(image), running(image), deleted), bmov1alpha1.StateDeprovisioning},
		"deleted while deprovisioning":            {in(bmov1alpha1.StateDeprovisioning, deleted), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted though cleaning keeps failing":   {in(bmov1alpha1.StateDeprovisioning, deleted, broken, failed(bmov1alpha1.ProvisioningError, attempts)), bmov1alpha1.StatePoweringOffBeforeDelete},
		"deleted though it cannot be switched":    {in(bmov1alpha1.StatePoweringOffBeforeDelete, deleted, unlit, failed(bmov1alpha1.PowerManagementError, attempts)), bmov1alpha1.StateDeleting},
		"deleted while detached":                  {in(bmov1alpha1.StateProvisioned, wanting(image), running(image), detached(`{}`), deleted), bmov1alpha1.StateDeleting},
		"released although there is no power":     {in(bmov1alpha1.StateProvisioned, running(image), func(v *view) { v.machine, v.host.Status.PoweredOn = off, false }, unlit), bmov1alpha1.StateDeprovisioning},
		"retried at once when the Secret is back": {in(bmov1alpha1.StateRegistering, early, failed(bmov1alpha1.RegistrationError, 1)), bmov1alpha1.StateInspecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := next(tc.from)
			g.Expect(got.status).NotTo(BeNil())
			g.Expect(got.status.Provisioning.State).To(Equal(tc.to))
		})
	}
}

func detached(arguments string) change {
	return func(v *view) {
		annotated(bmov1alpha1.DetachedAnnotation, arguments)(v)
		v.host.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached
	}
}

func TestNothingHappens(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]view{
		"paused":                             in("", annotated(bmov1alpha1.PausedAnnotation, "metal3.io/capm3")),
		"paused and deleted":                 in(bmov1alpha1.StateAvailable, annotated(bmov1alpha1.PausedAnnotation, ""), deleted),
		"deleted and released":               in(bmov1alpha1.StateAvailable, deleted, with(func(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil })),
		"available and off":                  in(bmov1alpha1.StateAvailable),
		"available and on":                   in(bmov1alpha1.StateAvailable, with(online), powered),
		"claimed, but without image":         in(bmov1alpha1.StateAvailable, with(claimed)),
		"image for a host that is to be off": in(bmov1alpha1.StateAvailable, wanting(image), with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false })),
		"provisioned":                        in(bmov1alpha1.StateProvisioned, wanting(image), running(image)),
		"detached":                           in(bmov1alpha1.StateProvisioned, running(image), detached("")),
		"deletion waits for attachment":      in(bmov1alpha1.StateProvisioned, running(image), detached(`{"deleteAction":"delay"}`), deleted),
		"stuck":                              in(bmov1alpha1.StateProvisioning, wanting(image), stuck),
		"without Secret, said already": in(bmov1alpha1.StateAvailable, func(v *view) {
			v.secret = ""
			v.host.Status.ErrorType, v.host.Status.ErrorMessage = bmov1alpha1.RegistrationError, "BMC Secret default/rack-1-host-001-bmc does not exist"
		}),
		"may not be off": in(bmov1alpha1.StateAvailable, powered, with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true })),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(next(v)).To(nothingToDo())
		})
	}
}

func claimed(host *bmov1alpha1.BareMetalHost) {
	host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: host.Namespace, Name: "machine"}
}

func TestOperationsTakeTheirTime(t *testing.T) {
	t.Parallel()
	for _, state := range []bmov1alpha1.ProvisioningState{
		bmov1alpha1.StateRegistering, bmov1alpha1.StateInspecting, bmov1alpha1.StatePreparing, bmov1alpha1.StateProvisioning,
		bmov1alpha1.StateDeprovisioning,
	} {
		NewWithT(t).Expect(next(in(state, wanting(image), early))).To(waiting(), string(state))
	}
	g := NewWithT(t)
	g.Expect(next(in(bmov1alpha1.StateAvailable, early, with(online)))).To(waiting(), "power")
	g.Expect(next(in(bmov1alpha1.StatePoweringOffBeforeDelete, early, deleted))).To(waiting())
	g.Expect(next(in(bmov1alpha1.StateDeleting, deleted))).To(Equal(step{retract: true, release: true}))
}

func TestEveryStateFailsInItsOwnWay(t *testing.T) {
	t.Parallel()
	for state, kind := range map[bmov1alpha1.ProvisioningState]bmov1alpha1.ErrorType{
		bmov1alpha1.StateRegistering:           bmov1alpha1.RegistrationError,
		bmov1alpha1.StateInspecting:            bmov1alpha1.InspectionError,
		bmov1alpha1.StatePreparing:             bmov1alpha1.PreparationError,
		bmov1alpha1.StateAvailable:             bmov1alpha1.PowerManagementError,
		bmov1alpha1.StateProvisioning:          bmov1alpha1.ProvisioningError,
		bmov1alpha1.StateProvisioned:           bmov1alpha1.PowerManagementError,
		bmov1alpha1.StateExternallyProvisioned: bmov1alpha1.PowerManagementError,
		bmov1alpha1.StateDeprovisioning:        bmov1alpha1.ProvisioningError,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := in(state, wanting(image), running(image), broken)
			v.host.Spec.ExternallyProvisioned = state == bmov1alpha1.StateExternallyProvisioned
			failure := func(count int) func(*bmov1alpha1.BareMetalHostStatus) {
				return func(s *bmov1alpha1.BareMetalHostStatus) {
					s.OperationalStatus, s.ErrorType = bmov1alpha1.OperationalStatusError, kind
					s.ErrorMessage, s.ErrorCount = "no answer", count
				}
			}
			got := next(v)
			g.Expect(got).To(becomes(v, state, failure(1)))
			g.Expect(got.events).To(HaveLen(1))

			v.host.Status, v.due = *got.status, false
			g.Expect(next(v)).To(waiting(), "the next try is later")
			v.due = true
			if state != bmov1alpha1.StateProvisioning {
				g.Expect(next(v)).To(becomes(v, state, failure(2)))
			}
			v.fault, v.due = fault{}, false
			if healed := next(v); state != bmov1alpha1.StateProvisioning {
				g.Expect(healed.status.ErrorMessage).To(BeEmpty())
				g.Expect(healed.status.OperationalStatus).To(Equal(bmov1alpha1.OperationalStatusOK))
				g.Expect(healed.status.ErrorCount).To(BeZero())
			}
		})
	}
}

func TestAnImageWithoutChecksumIsAProvisioningError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := next(in(bmov1alpha1.StateProvisioning, wanting(bmov1alpha1.Image{URL: "http://images/node.qcow2"})))
	g.Expect(got.status.ErrorType).To(Equal(bmov1alpha1.ProvisioningError))
	g.Expect(got.status.ErrorMessage).To(ContainSubstring("checksum"))
	g.Expect(got.status.Provisioning.State).To(Equal(bmov1alpha1.StateProvisioning))
}
