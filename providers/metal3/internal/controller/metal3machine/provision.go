// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// configure writes the configuration to the host.
func (r *Reconciler) configure(ctx context.Context, s *scope) (reconcile.Progress, error) {
	err := r.Hosts.Configure(ctx, s.host, s.config())
	if reconcile.IsRejected(err) {
		markUnprovisioned(s, infrav1.Metal3MachineHostRefusedReason, reconcile.RejectedMessage("BareMetalHost", s.host.Name, err))
		return reconcile.Retry(reconcile.RefusedPause), nil
	}
	if reconcile.IsTransient(err) {
		markUnprovisioned(s, infrav1.Metal3MachineHostProvisioningReason, reconcile.RejectedMessage("BareMetalHost", s.host.Name, err))
	}
	return reconcile.Proceed, err
}

// config returns the configuration of the machine's host.
func (s *scope) config() *hosts.Config {
	spec, state := &s.infra.Spec, &s.infra.Status
	config := &hosts.Config{
		UserData: state.UserData, MetaData: state.MetaData, NetworkData: state.NetworkData,
		CleaningMode: bmov1alpha1.AutomatedCleaningMode(spec.AutomatedCleaningMode),
	}
	if spec.Image.URL != "" {
		config.Image = image(spec.Image)
	}
	if spec.CustomDeploy.Method != "" {
		config.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: spec.CustomDeploy.Method}
	}
	return config
}

func image(from infrav1.Image) *bmov1alpha1.Image {
	to := &bmov1alpha1.Image{URL: from.URL, Checksum: from.Checksum, ChecksumType: bmov1alpha1.ChecksumType(ptr.Deref(from.ChecksumType, ""))}
	if from.DiskFormat != nil {
		to.DiskFormat = ptr.To(string(*from.DiskFormat))
	}
	return to
}

// powerFailure describes the condition of a host without power. The machine may still run: a failure of the BMC alone looks the
// same.
const powerFailure = "the bare-metal operator cannot control the power of the machine (condition Manageable is False, PowerFailure)"

// delayed describes the operational status of a host that waits for others.
const delayed = "the bare-metal operator is working on its maximum number of hosts (PROVISIONING_LIMIT)"

// observe reports the state of the host, and waits until it is provisioned.
func (r *Reconciler) observe(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if found := addresses(s.host); len(found) > 0 {
		s.infra.Status.Addresses = found
	}
	state := s.host.Status
	switch {
	case !s.host.DeletionTimestamp.IsZero():
		markUnprovisioned(s, infrav1.Metal3MachineHostErrorReason, fmt.Sprintf("BareMetalHost %s is being deleted: delete the Machine", s.host.Name))
		return reconcile.Wait, nil
	case state.ErrorMessage != "":
		markUnprovisioned(s, infrav1.Metal3MachineHostErrorReason, fmt.Sprintf(
			"BareMetalHost %s, %s: %s: repair the host, or delete the Machine", s.host.Name, state.Provisioning.State, state.ErrorMessage))
		return reconcile.Wait, nil
	case hosts.WithoutPower(s.host):
		markUnprovisioned(s, infrav1.Metal3MachineHostErrorReason, fmt.Sprintf(
			"BareMetalHost %s, %s: %s: restore the power, or delete the Machine", s.host.Name, state.Provisioning.State, powerFailure))
		return reconcile.Wait, nil
	case !isProvisioned(state.Provisioning.State) && hosts.DetachedBy(s.host) != "":
		markUnprovisioned(s, infrav1.Metal3MachineHostProvisioningReason, fmt.Sprintf(
			"BareMetalHost %s is not provisioned: the bare-metal operator ignores it: remove the annotation %s", s.host.Name, hosts.DetachedBy(s.host)))
		return reconcile.Wait, nil
	case !isProvisioned(state.Provisioning.State) && hosts.Delayed(s.host):
		markUnprovisioned(s, infrav1.Metal3MachineHostProvisioningReason, fmt.Sprintf("BareMetalHost %s is not provisioned yet: %s", s.host.Name, delayed))
		return reconcile.Wait, nil
	case !isProvisioned(state.Provisioning.State):
		return r.observeProvisioning(ctx, s)
	}
	return reconcile.Proceed, nil
}

// observeProvisioning reports missing Secrets, because the operator waits for them without reporting it.
func (r *Reconciler) observeProvisioning(ctx context.Context, s *scope) (reconcile.Progress, error) {
	missing, err := r.missingSecrets(ctx, s)
	if err != nil {
		return reconcile.Wait, err
	}
	if len(missing) > 0 {
		markUnprovisioned(s, infrav1.Metal3MachineHostProvisioningReason, fmt.Sprintf(
			"BareMetalHost %s is not provisioned: Secret %s does not exist: create it, or delete the Machine", s.host.Name, strings.Join(missing, ", Secret ")))
		return reconcile.Retry(reconcile.RefusedPause), nil
	}
	markUnprovisioned(s, infrav1.Metal3MachineHostProvisioningReason, fmt.Sprintf("BareMetalHost %s is being provisioned", s.host.Name))
	return reconcile.Wait, nil
}

// missingSecrets returns the Secrets in the host's spec that do not exist, each with its field. Secrets that are not in the cache
// are read from the API server, because they may just have been rendered.
func (r *Reconciler) missingSecrets(ctx context.Context, s *scope) ([]string, error) {
	var missing []string
	for _, given := range []struct {
		field string
		ref   *corev1.SecretReference
	}{{"userData", s.host.Spec.UserData}, {"metaData", s.host.Spec.MetaData}, {"networkData", s.host.Spec.NetworkData}} {
		if given.ref == nil || given.ref.Namespace != "" && given.ref.Namespace != s.host.Namespace { // the host's own, in any namespace
			continue
		}
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key := client.ObjectKey{Namespace: s.host.Namespace, Name: given.ref.Name}
		found, err := reconcile.Find(ctx, r.Client, key, secret)
		if err == nil && found == nil {
			found, err = reconcile.Find(ctx, r.Hosts.Live, key, secret)
		}
		if err != nil {
			return nil, err
		}
		if found == nil {
			missing = append(missing, fmt.Sprintf("%s (spec.%s)", key, given.field))
		}
	}
	return missing, nil
}

// isProvisioned reports whether a host in this state is provisioned.
func isProvisioned(state bmov1alpha1.ProvisioningState) bool {
	return state == bmov1alpha1.StateProvisioned || state == bmov1alpha1.StateExternallyProvisioned
}
