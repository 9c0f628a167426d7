// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
)

// noVLAN is the VLAN of an untagged network.
const noVLAN = "0"

// networkKey parses namespace/name.
func networkKey(name string) (client.ObjectKey, bool) {
	namespace, rest, _ := strings.Cut(name, "/")
	return client.ObjectKey{Namespace: namespace, Name: rest}, namespace != "" && rest != "" && !strings.Contains(rest, "/")
}

// knownNetwork rejects a network that does not exist, because the pool would never be selected.
func (w ipPool) knownNetwork(ctx context.Context, name string) field.ErrorList {
	path := field.NewPath("spec", "selector", "network")
	key, ok := networkKey(name)
	switch {
	case name == "":
		return nil
	case !ok:
		return field.ErrorList{field.Invalid(path, name, "must be the name of a network in the form namespace/name")}
	}
	switch err := w.Reader.Get(ctx, key, &networkv1.NetworkAttachmentDefinition{}); {
	case apierrors.IsNotFound(err):
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"must exist: create NetworkAttachmentDefinition %s in namespace %s first, or name another network as namespace/name", key.Name, key.Namespace))}
	case err != nil && !meta.IsNoMatchError(err): // without the kind, networks cannot be validated
		return field.ErrorList{field.InternalError(path, fmt.Errorf("reading network %s: %w", name, err))}
	}
	return nil
}

// vlan returns the VLAN of a network, or "" if the network does not exist, which knownNetwork reports.
func (w ipPool) vlan(ctx context.Context, name string) (string, error) {
	network, err := findNetwork(ctx, w.Reader, name)
	if err != nil || network == nil {
		return "", err
	}
	vlan, err := vlanOf(network)
	if err != nil {
		return "", fmt.Errorf("reading the VLAN of network %s from its spec.config: %w: correct it, or label the network %s", name, err, networkv1.VLANLabel)
	}
	return vlan, nil
}

// findNetwork returns the network, or nil if it or its kind does not exist.
func findNetwork(ctx context.Context, reader client.Reader, name string) (*networkv1.NetworkAttachmentDefinition, error) {
	key, ok := networkKey(name)
	if !ok {
		return nil, nil
	}
	network := &networkv1.NetworkAttachmentDefinition{}
	switch err := reader.Get(ctx, key, network); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading network %s: %w", name, err)
	}
	return network, nil
}

// vlanOf returns the VLAN of a network from its label or else from its configuration.
func vlanOf(network *networkv1.NetworkAttachmentDefinition) (string, error) {
	if label := network.Labels[networkv1.VLANLabel]; label != "" {
		return label, nil
	}
	config := struct {
		VLAN int `json:"vlan"`
	}{}
	if network.Spec.Config == "" {
		return noVLAN, nil
	}
	if err := json.Unmarshal([]byte(network.Spec.Config), &config); err != nil {
		return "", err
	}
	return strconv.Itoa(config.VLAN), nil
}
