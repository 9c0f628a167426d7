// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// Boot is what a machine boots from.
type Boot struct {
	// Host is a copy. Its image or custom deployment says what was written to the disk; an externally provisioned host
	// has neither.
	Host *bmov1alpha1.BareMetalHost
	// UserData and NetworkData are nil for a host without them.
	UserData, NetworkData []byte
	// MetaData has what the operator adds to every host's and, over it, the host's own.
	MetaData map[string]any
}

// Hooks hear of machines that run a system of their user; those that run nothing are not reported. A hook may be called
// again for what it has done already, when the process was restarted in between. Its error becomes a power management
// error of the host, and the hook is called again later.
type Hooks struct {
	// PowerOn is called when a machine boots: after it was provisioned, and after each power cycle.
	PowerOn func(context.Context, Boot) error
	// PowerOff is called when a booted machine loses its power, or its disk.
	PowerOff func(context.Context, *bmov1alpha1.BareMetalHost) error
	// Erase is called when a machine loses its disk, running or not: what is booted there next starts from its image.
	Erase func(context.Context, *bmov1alpha1.BareMetalHost) error
}

// Machines are those of all hosts.
type Machines struct {
	client client.Client
	// live reads past the cache.
	live  client.Reader
	hooks Hooks
}

// NewMachines has machines that tell the hooks. The Secrets that they boot from are read from live, and labelled with c.
func NewMachines(c client.Client, live client.Reader, hooks Hooks) *Machines {
	return &Machines{client: c, live: live, hooks: hooks}
}

// Turn makes the hardware do something else, telling the hooks. A machine that is to boot but runs is switched off first.
func (m *Machines) Turn(ctx context.Context, host *bmov1alpha1.BareMetalHost, from, to lifecycle.Machine) error {
	if from == lifecycle.Booted && m.hooks.PowerOff != nil {
		if err := m.hooks.PowerOff(ctx, host.DeepCopy()); err != nil {
			return fmt.Errorf("powering off: %w", err)
		}
	}
	if to != lifecycle.Booted {
		return nil
	}
	boot, err := m.bootOf(ctx, host)
	if err != nil || m.hooks.PowerOn == nil {
		return err
	}
	if err := m.hooks.PowerOn(ctx, boot); err != nil {
		return fmt.Errorf("powering on: %w", err)
	}
	return nil
}

// Erase empties the disk, telling the hook.
func (m *Machines) Erase(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	if m.hooks.Erase == nil {
		return nil
	}
	if err := m.hooks.Erase(ctx, host.DeepCopy()); err != nil {
		return fmt.Errorf("erasing: %w", err)
	}
	return nil
}

func (m *Machines) bootOf(ctx context.Context, host *bmov1alpha1.BareMetalHost) (Boot, error) {
	boot := Boot{Host: host.DeepCopy()}
	userData, err := m.secretData(ctx, host, host.Spec.UserData, "userData")
	if err != nil {
		return boot, err
	}
	networkData, err := m.secretData(ctx, host, networkDataOf(host), "networkData")
	if err != nil {
		return boot, err
	}
	metaData, err := m.secretData(ctx, host, host.Spec.MetaData, "metaData")
	if err != nil {
		return boot, err
	}
	own := map[string]any{}
	if err := yaml.Unmarshal(metaData, &own); err != nil {
		return boot, fmt.Errorf("reading meta data: %w", err)
	}
	boot.UserData, boot.NetworkData, boot.MetaData = userData, networkData, standardMetaData(host)
	maps.Copy(boot.MetaData, own)
	return boot, nil
}

// standardMetaData is what the operator puts on the config drive of each host.
func standardMetaData(host *bmov1alpha1.BareMetalHost) map[string]any {
	return map[string]any{
		"uuid": string(host.UID), "name": host.Name, "metal3-namespace": host.Namespace, "metal3-name": host.Name,
		"local-hostname": host.Name, "local_hostname": host.Name,
	}
}

// networkDataOf is the host's, or else what it had before provisioning.
func networkDataOf(host *bmov1alpha1.BareMetalHost) *corev1.SecretReference {
	if host.Spec.NetworkData == nil && host.Spec.PreprovisioningNetworkDataName != "" {
		return &corev1.SecretReference{Name: host.Spec.PreprovisioningNetworkDataName}
	}
	return host.Spec.NetworkData
}

// secretData looks for the key that the operator prefers, then for the one that Cluster API uses.
func (m *Machines) secretData(
	ctx context.Context, host *bmov1alpha1.BareMetalHost, ref *corev1.SecretReference, key string,
) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = host.Namespace
	}
	secret := &corev1.Secret{}
	if err := m.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	if err := ClaimSecret(ctx, m.client, secret); err != nil {
		return nil, err
	}
	for _, candidate := range []string{key, "value"} {
		if data, ok := secret.Data[candidate]; ok {
			return data, nil
		}
	}
	return nil, fmt.Errorf("reading %s: Secret %s has no key %s", key, ref.Name, key)
}
