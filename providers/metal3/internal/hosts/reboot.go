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

// hardReboot is the value of an annotation that takes the power from a host without asking its operating system, which may
// hang: that is why it is rebooted.
const hardReboot = `{"mode":"` + string(bmov1alpha1.RebootModeHard) + `"}`

// KeepOff powers the host off until LetRun. Others that keep it off, with annotations of their own, are not disturbed.
func (h *Hosts) KeepOff(ctx context.Context, host *bmov1alpha1.BareMetalHost, remediation types.UID) error {
	return h.annotate(ctx, host, rebootAnnotation(remediation), hardReboot, h.mark)
}

// LetRun ends what KeepOff began.
func (h *Hosts) LetRun(ctx context.Context, host *bmov1alpha1.BareMetalHost, remediation types.UID) error {
	if !KeptOff(host, remediation) {
		return nil
	}
	before := host.DeepCopy()
	delete(host.Annotations, rebootAnnotation(remediation))
	return h.patch(ctx, host, before)
}

// KeptOff reports whether the host is powered off for the remediation, or is about to be.
func KeptOff(host *bmov1alpha1.BareMetalHost, remediation types.UID) bool {
	return annotated(host, rebootAnnotation(remediation))
}

// KeptOffBy lists the UIDs of the remediations that keep the host off.
func KeptOffBy(host *bmov1alpha1.BareMetalHost) []string {
	var uids []string
	for key := range host.Annotations {
		if uid, ok := strings.CutPrefix(key, infrav1.RemediationRebootAnnotationPrefix); ok {
			uids = append(uids, uid)
		}
	}
	return uids
}

// Restart asks for one reboot of a host that may not be powered off. The operator takes the annotation away when it is done.
func (h *Hosts) Restart(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return h.annotate(ctx, host, bmov1alpha1.RebootAnnotationPrefix, hardReboot, h.patch)
}

// MarkUnhealthy keeps machines off the host until somebody has looked at it and takes the mark away.
func (h *Hosts) MarkUnhealthy(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	return h.annotate(ctx, host, infrav1.UnhealthyAnnotation, "", h.mark)
}

// annotate leaves an annotation that is there as it is, unless a value is asked for that it has not.
func (h *Hosts) annotate(ctx context.Context, host *bmov1alpha1.BareMetalHost, key, value string, write writing) error {
	if found, ok := host.Annotations[key]; ok && (value == "" || found == value) {
		return nil
	}
	before := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, value)
	return write(ctx, host, before)
}

// writing is Hosts.patch or Hosts.mark.
type writing func(ctx context.Context, host, before *bmov1alpha1.BareMetalHost) error

func rebootAnnotation(remediation types.UID) string {
	return infrav1.RemediationRebootAnnotationPrefix + string(remediation)
}
