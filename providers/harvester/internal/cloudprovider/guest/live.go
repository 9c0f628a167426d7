// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IsDeleted reports whether no virtual machine with that name or that UID exists, according to Harvester's API server. Either may
// be empty.
func (v *view) IsDeleted(ctx context.Context, name string, uid types.UID) (bool, error) {
	if uid == "" {
		return v.missing(ctx, name)
	}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind.GroupVersion().WithKind("VirtualMachineList"))
	if err := v.List(ctx, all, client.InNamespace(v.namespace)); err != nil {
		return false, fmt.Errorf("listing virtual machines: %w", err)
	}
	for i := range all.Items {
		if all.Items[i].UID == uid {
			return false, nil
		}
	}
	return true, nil
}

func (v *view) missing(ctx context.Context, name string) (bool, error) {
	vm := &metav1.PartialObjectMetadata{}
	vm.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind)
	err := v.Get(ctx, client.ObjectKey{Namespace: v.namespace, Name: name}, vm)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading virtual machine %s: %w", name, err)
	}
	return false, nil
}

// Hostname returns the hostname that the guest agent reports.
func (v *view) Hostname(ctx context.Context, vmi string) (string, error) {
	config := rest.CopyConfig(v.config)
	config.Timeout, config.NegotiatedSerializer = requestTimeout, scheme.Codecs.WithoutConversion()
	asking, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return "", err
	}
	path := []string{"apis", "subresources.kubevirt.io", "v1", "namespaces", v.namespace, "virtualmachineinstances", vmi, "guestosinfo"}
	data, err := asking.Verb(http.MethodGet).AbsPath(path...).Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	return hostnameIn(data)
}

// hostnameIn parses the guest agent info from KubeVirt.
func hostnameIn(data []byte) (string, error) {
	said := kubevirtv1.VirtualMachineInstanceGuestAgentInfo{}
	if err := json.Unmarshal(data, &said); err != nil {
		return "", fmt.Errorf("decoding guest agent info: %w", err)
	}
	return said.Hostname, nil
}
