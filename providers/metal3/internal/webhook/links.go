// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// linkIDs returns the ids of all links.
func linkIDs(links infrav1.NetworkDataLink) []string {
	var ids []string
	for _, link := range links.Ethernets {
		ids = append(ids, link.ID)
	}
	for _, link := range links.Bonds {
		ids = append(ids, link.ID)
	}
	for _, link := range links.Bridges {
		ids = append(ids, link.ID)
	}
	for _, link := range links.Vlans {
		ids = append(ids, link.ID)
	}
	return ids
}

// validateLinks validates all kinds of links.
func validateLinks(links infrav1.NetworkDataLink, path *field.Path) field.ErrorList {
	ids, once := linkIDs(links), uniqueIDs{}
	var errs field.ErrorList
	for i, link := range links.Ethernets {
		at := path.Child("ethernets").Index(i)
		errs = append(errs, once.add(link.ID, at.Child("id"))...)
		errs = append(errs, validateMAC(link.MACAddress, at.Child("macAddress"))...)
	}
	for i, link := range links.Bonds {
		at := path.Child("bonds").Index(i)
		errs = append(errs, once.add(link.ID, at.Child("id"))...)
		errs = append(errs, validateMAC(link.MACAddress, at.Child("macAddress"))...)
		errs = append(errs, validateLinkIDs(link.BondLinks, ids, at.Child("bondLinks"))...)
		errs = append(errs, validateParameters(link.Parameters, at.Child("parameters"), "mode", "links", "xmit_hash_policy")...)
	}
	for i, link := range links.Bridges {
		at := path.Child("bridges").Index(i)
		errs = append(errs, once.add(link.ID, at.Child("id"))...)
		errs = append(errs, validateMAC(link.MACAddress, at.Child("macAddress"))...)
		errs = append(errs, validateLinkIDs(link.BridgeLinks, ids, at.Child("bridgeLinks"))...)
		errs = append(errs, validateParameters(link.Parameters, at.Child("parameters"), "links")...)
	}
	for i, link := range links.Vlans {
		at := path.Child("vlans").Index(i)
		errs = append(errs, once.add(link.ID, at.Child("id"))...)
		errs = append(errs, validateMAC(link.MACAddress, at.Child("macAddress"))...)
		errs = append(errs, validateLinkID(link.VlanLink, ids, at.Child("vlanLink"))...)
	}
	return errs
}

// uniqueIDs holds the ids of links seen so far.
type uniqueIDs map[string]bool

func (u uniqueIDs) add(id string, path *field.Path) field.ErrorList {
	if u[id] {
		return field.ErrorList{field.Duplicate(path, id)}
	}
	u[id] = true
	return nil
}

// validateLinkID requires the id of an existing link.
func validateLinkID(id string, links []string, path *field.Path) field.ErrorList {
	if slices.Contains(links, id) {
		return nil
	}
	detail := "must be the ID of a link: add one to networkData.links"
	if len(links) > 0 {
		detail = "must be the ID of a link, one of: " + strings.Join(links, ", ")
	}
	return field.ErrorList{field.Invalid(path, id, detail)}
}

func validateLinkIDs(ids, links []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, id := range ids {
		errs = append(errs, validateLinkID(id, links, path.Index(i))...)
	}
	return errs
}

// validateMAC requires exactly one source of the MAC address, if one is set.
func validateMAC(mac *infrav1.NetworkLinkEthernetMac, path *field.Path) field.ErrorList {
	if mac == nil {
		return nil
	}
	given := 0
	for _, is := range []bool{mac.String != nil, mac.FromHostInterface != nil, mac.FromAnnotation != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return field.ErrorList{field.Invalid(path, given,
			"must set exactly one of string, fromHostInterface and fromAnnotation")}
	}
	var errs field.ErrorList
	if mac.String != nil {
		if _, err := net.ParseMAC(*mac.String); err != nil {
			errs = append(errs, field.Invalid(path.Child("string"), *mac.String, "must be a MAC address, such as 52:54:00:12:34:56"))
		}
	}
	if mac.FromAnnotation != nil {
		errs = append(errs, validateKey(mac.FromAnnotation.Annotation, path.Child("fromAnnotation", "annotation"))...)
	}
	return errs
}

// validateParameters rejects parameters that are set by other fields.
func validateParameters(parameters []infrav1.NetworkDataLinkParameter, path *field.Path, reserved ...string) field.ErrorList {
	var errs field.ErrorList
	for i, parameter := range parameters {
		if slices.Contains(reserved, parameter.Name) {
			errs = append(errs, field.Forbidden(path.Index(i).Child("name"),
				fmt.Sprintf("may not set %s, which has its own field: remove the parameter", parameter.Name)))
		}
	}
	return errs
}
