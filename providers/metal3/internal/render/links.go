// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// macAddress matches a MAC address of six bytes, the only form that cloud-init supports to find interfaces.
var macAddress = regexp.MustCompile(`^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$`)

// renderLinks renders the template's links: bonds, ethernets, bridges, VLANs.
func renderLinks(spec *infrav1.NetworkDataLink, in *Input) ([]entry, error) {
	path, list := networkDataPath("links"), []entry{}
	add := func(link entry, err error) error {
		list = append(list, link)
		return err
	}
	for i := range spec.Bonds {
		if err := add(bond(&spec.Bonds[i], path.Child("bonds").Index(i), in)); err != nil {
			return nil, err
		}
	}
	for i := range spec.Ethernets {
		if err := add(ethernet(&spec.Ethernets[i], path.Child("ethernets").Index(i), in)); err != nil {
			return nil, err
		}
	}
	for i := range spec.Bridges {
		if err := add(bridge(&spec.Bridges[i], path.Child("bridges").Index(i), in)); err != nil {
			return nil, err
		}
	}
	for i := range spec.Vlans {
		if err := add(vlan(&spec.Vlans[i], path.Child("vlans").Index(i), in)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func newLink(kind string, common *infrav1.NetworkDataLinkCommon) entry {
	link := entry{"type": kind, "id": common.ID}
	if common.Name != "" {
		link["name"] = common.Name
	}
	if mtu := ptr.Deref(common.MTU, 0); mtu != 0 {
		link["mtu"] = mtu
	}
	return link
}

func ethernet(spec *infrav1.NetworkDataLinkEthernet, path *field.Path, in *Input) (entry, error) {
	link := newLink(spec.Type, &spec.NetworkDataLinkCommon)
	return link, setMAC(link, "ethernet_mac_address", spec.MACAddress, path, in)
}

// bond has the MAC address of one of its links unless the template sets one.
func bond(spec *infrav1.NetworkDataLinkBond, path *field.Path, in *Input) (entry, error) {
	link := newLink("bond", &spec.NetworkDataLinkCommon)
	link["bond_mode"] = spec.BondMode
	link["bond_links"] = append([]string{}, spec.BondLinks...)
	if spec.BondXmitHashPolicy != "" {
		link["bond_xmit_hash_policy"] = spec.BondXmitHashPolicy
	}
	reserved := map[string]string{"mode": "bondMode", "links": "bondLinks", "xmit_hash_policy": "bondXmitHashPolicy"}
	if err := addParameters(link, "bond_", spec.Parameters, reserved, path); err != nil {
		return nil, err
	}
	if spec.MACAddress == nil {
		return link, nil
	}
	return link, setMAC(link, "ethernet_mac_address", spec.MACAddress, path, in)
}

// bridge has the MAC address of one of its links unless the template sets one.
func bridge(spec *infrav1.NetworkDataLinkBridge, path *field.Path, in *Input) (entry, error) {
	link := newLink("bridge", &spec.NetworkDataLinkCommon)
	link["bridge_links"] = append([]string{}, spec.BridgeLinks...)
	if spec.AcceptRA != nil {
		link["accept_ra"] = *spec.AcceptRA
	}
	if err := addParameters(link, "bridge_", spec.Parameters, map[string]string{"links": "bridgeLinks"}, path); err != nil {
		return nil, err
	}
	if spec.MACAddress == nil {
		return link, nil
	}
	return link, setMAC(link, "ethernet_mac_address", spec.MACAddress, path, in)
}

func vlan(spec *infrav1.NetworkDataLinkVlan, path *field.Path, in *Input) (entry, error) {
	link := newLink("vlan", &spec.NetworkDataLinkCommon)
	link["vlan_id"] = spec.VlanID
	link["vlan_link"] = spec.VlanLink
	return link, setMAC(link, "vlan_mac_address", spec.MACAddress, path, in)
}

// addParameters adds parameters that have no field in the template. A reserved parameter maps to its field and is rejected.
func addParameters(link entry, prefix string, list []infrav1.NetworkDataLinkParameter, reserved map[string]string, path *field.Path) error {
	for i, parameter := range list {
		path := path.Child("parameters").Index(i)
		if own, ok := reserved[parameter.Name]; ok {
			return at(path, fmt.Errorf("%s has a field of its own: use %s", parameter.Name, own))
		}
		var value any
		if len(parameter.Value.Raw) > 0 {
			if err := json.Unmarshal(parameter.Value.Raw, &value); err != nil {
				return at(path.Child("value"), err)
			}
		}
		link[prefix+parameter.Name] = value
	}
	return nil
}

// setMAC sets the MAC address under the key.
func setMAC(link entry, key string, spec *infrav1.NetworkLinkEthernetMac, parent *field.Path, in *Input) error {
	path, mac, err := resolveMAC(spec, parent.Child("macAddress"), in)
	if err != nil {
		return at(path, err)
	}
	if !macAddress.MatchString(mac) {
		return at(path, fmt.Errorf("%q is not a MAC address", mac))
	}
	link[key] = mac
	return nil
}

// resolveMAC resolves the first source that is set, and returns its path.
func resolveMAC(spec *infrav1.NetworkLinkEthernetMac, path *field.Path, in *Input) (*field.Path, string, error) {
	switch {
	case spec != nil && spec.String != nil:
		return path.Child("string"), *spec.String, nil
	case spec != nil && spec.FromHostInterface != nil:
		mac, err := in.interfaceMAC(*spec.FromHostInterface)
		return path.Child("fromHostInterface"), mac, err
	case spec != nil && spec.FromAnnotation != nil:
		mac, err := in.annotation(spec.FromAnnotation.Object, spec.FromAnnotation.Annotation)
		return path.Child("fromAnnotation"), mac, err
	default:
		return path, "", errors.New("set string, fromHostInterface or fromAnnotation")
	}
}
