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

// Boot is the boot data of a machine.
type Boot struct {
	// Host is a copy. Its image or custom deploy procedure defines what was written to the disk; an externally provisioned host
	// has neither.
	Host *bmov1alpha1.BareMetalHost
	// UserData and NetworkData are nil for a host without them.
	UserData, NetworkData []byte
	// MetaData contains the entries that the operator sets for every host, overridden by the host's own.
	MetaData map[string]any
}

// Hooks are called for machines with a provisioned operating system; other machines are not reported. A hook may be called again
// after a restart of the process. An error of a hook becomes a power management error of the host, and the hook is retried.
type Hooks struct {
	// PowerOn is called when a machine boots: after it is provisioned, and after each power cycle.
	PowerOn func(context.Context, Boot) error
	// PowerOff is called when a booted machine loses its power or its disk.
	PowerOff func(context.Context, *bmov1alpha1.BareMetalHost) error
	// Erase is called when the disk of a machine is erased, running or not: its next boot starts from the image.
	Erase func(context.Context, *bmov1alpha1.BareMetalHost) error
}

// Machines holds the machines of all hosts.
type Machines struct {
	client client.Client
	// live reads from the API server.
	live  client.Reader
	hooks Hooks
}

// NewMachines returns machines that call the hooks. The Secrets that they boot from are read from live, and labelled with c.
func NewMachines(c client.Client, live client.Reader, hooks Hooks) *Machines {
	return &Machines{client: c, live: live, hooks: hooks}
}

// Turn changes the state of the hardware and calls the hooks. A running machine that must boot is powered off first.
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

// Erase erases the disk and calls the hook.
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

// standardMetaData returns the metadata that the operator sets for every host.
func standardMetaData(host *bmov1alpha1.BareMetalHost) map[string]any {
	return map[string]any{
		"uuid": string(host.UID), "name": host.Name, "metal3-namespace": host.Namespace, "metal3-name": host.Name,
		"local-hostname": host.Name, "local_hostname": host.Name,
	}
}

// networkDataOf returns the network data of the host, or its preprovisioning network data.
func networkDataOf(host *bmov1alpha1.BareMetalHost) *corev1.SecretReference {
	if host.Spec.NetworkData == nil && host.Spec.PreprovisioningNetworkDataName != "" {
		return &corev1.SecretReference{Name: host.Spec.PreprovisioningNetworkDataName}
	}
	return host.Spec.NetworkData
}

// secretData returns the value of the key that the operator prefers, or of the key that Cluster API uses.
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
