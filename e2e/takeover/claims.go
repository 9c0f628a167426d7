// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	_ "embed"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const ipamGroup = "ipam.cluster.x-k8s.io"

// claim is an IPAddressClaim and its IPAddress.
type claim struct {
	UID, Pool, Finalizers  string
	Owners                 []string // UIDs only, because the API version of an owner changes
	AddressUID, Address    string
	AddressName, Satisfies string
}

// claims returns all IPAddressClaims by name.
func (m Managed) claims(ctx context.Context) (map[string]claim, error) {
	list, err := m.listOf(ctx, ipamGroup, "v1beta2", "IPAddressClaim")
	if err != nil {
		return nil, err
	}
	claims := map[string]claim{}
	for i := range list {
		object := &list[i]
		one := claim{UID: string(object.GetUID()), Finalizers: strings.Join(slices.Sorted(slices.Values(object.GetFinalizers())), " ")}
		for _, owner := range object.GetOwnerReferences() {
			one.Owners = append(one.Owners, string(owner.UID))
		}
		slices.Sort(one.Owners)
		one.Pool, _, _ = unstructured.NestedString(object.Object, "spec", "poolRef", "name")
		one.AddressName, _, _ = unstructured.NestedString(object.Object, "status", "addressRef", "name")
		if one.AddressName != "" {
			if err := m.answer(ctx, object.GetNamespace(), &one); err != nil {
				return nil, err
			}
		}
		claims[object.GetName()] = one
	}
	return claims, nil
}

func (m Managed) answer(ctx context.Context, namespace string, one *claim) error {
	address := &unstructured.Unstructured{}
	address.SetAPIVersion(ipamGroup + "/v1beta2")
	address.SetKind("IPAddress")
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: one.AddressName}, address); err != nil {
		return client.IgnoreNotFound(err)
	}
	one.AddressUID = string(address.GetUID())
	one.Address, _, _ = unstructured.NestedString(address.Object, "spec", "address")
	one.Satisfies, _, _ = unstructured.NestedString(address.Object, "spec", "claimRef", "name")
	return nil
}

// staticAddress returns the first address in cloud-init metadata, or "".
func staticAddress(settings []types.BaseOptionValue) (string, error) {
	i := slices.IndexFunc(settings, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == "guestinfo.metadata" })
	if i < 0 {
		return "", nil
	}
	text, _ := settings[i].GetOptionValue().Value.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	metadata := struct {
		Network struct {
			Ethernets map[string]struct {
				Addresses []string `json:"addresses"`
			} `json:"ethernets"`
		} `json:"network"`
	}{}
	if err := yaml.Unmarshal(data, &metadata); err != nil {
		return "", err
	}
	for _, card := range metadata.Network.Ethernets {
		if len(card.Addresses) > 0 {
			return card.Addresses[0], nil
		}
	}
	return "", nil
}
