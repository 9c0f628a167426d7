// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// hardReboot is the value of an annotation that powers a host off without a shutdown of its operating system. The host is
// rebooted because it may hang.
const hardReboot = `{"mode":"` + string(bmov1alpha1.RebootModeHard) + `"}`

// PowerOff powers the host off until PowerOn is called. Annotations of other actors that keep it off are not changed.
func (h *Hosts) PowerOff(ctx context.Context, host *bmov1alpha1.BareMetalHost, remediation types.UID) error {
	return h.annotate(ctx, host, rebootAnnotation(remediation), hardReboot, h.patch)
}

// PowerOn reverts PowerOff.
func (h *Hosts) PowerOn(ctx context.Context, host *bmov1alpha1.BareMetalHost, remediation types.UID) error {
	if !PowerOffRequested(host, remediation) {
		return nil
	}
	before := host.DeepCopy()
	delete(host.Annotations, rebootAnnotation(remediation))
	return h.patch(ctx, host, before)
}

// PowerOffRequested reports whether the host is, or is about to be, powered off for the remediation.
func PowerOffRequested(host *bmov1alpha1.BareMetalHost, remediation types.UID) bool {
	return annotated(host, rebootAnnotation(remediation))
}

// PowerOffRequesters lists the UIDs of the remediations that keep the host off.
func PowerOffRequesters(host *bmov1alpha1.BareMetalHost) []string {
	var uids []string
	for key := range host.Annotations {
		if uid, ok := strings.CutPrefix(key, infrav1.RemediationRebootAnnotationPrefix); ok {
			uids = append(uids, uid)
		}
	}
	return uids
}

// Restart requests a single reboot of a host that must not stay powered off. The operator removes the annotation when the host
// has been rebooted.
func (h *Hosts) Restart(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return h.annotate(ctx, host, bmov1alpha1.RebootAnnotationPrefix, hardReboot, h.patchOnce)
}

// MarkUnhealthy excludes the host from use until a user removes the annotation.
func (h *Hosts) MarkUnhealthy(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return h.annotate(ctx, host, infrav1.UnhealthyAnnotation, "", h.patch)
}

// annotate keeps an existing annotation, unless value is not empty and differs.
func (h *Hosts) annotate(ctx context.Context, host *bmov1alpha1.BareMetalHost, key, value string, write patchFunc) error {
	if found, ok := host.Annotations[key]; ok && (value == "" || found == value) {
		return nil
	}
	before := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, value)
	return write(ctx, host, before)
}

// patchFunc is Hosts.patch or Hosts.patchOnce.
type patchFunc func(ctx context.Context, host, before *bmov1alpha1.BareMetalHost) error

func rebootAnnotation(remediation types.UID) string {
	return infrav1.RemediationRebootAnnotationPrefix + string(remediation)
}
