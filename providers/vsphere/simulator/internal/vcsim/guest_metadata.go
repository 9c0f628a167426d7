// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"
)

// guestMetadata is the part of cloud-init's instance data with the host name and addresses of a guest.
type guestMetadata struct {
	Hostname string `json:"local-hostname"`
	Network  struct {
		Ethernets map[string]ethernet `json:"ethernets"`
	} `json:"network"`
}

type ethernet struct {
	Match struct {
		MAC string `json:"macaddress"`
	} `json:"match"`
	Addresses []string `json:"addresses"`
	DHCP4     bool     `json:"dhcp4"`
	DHCP6     bool     `json:"dhcp6"`
}

// parseMetadata parses guestinfo.metadata in one of cloud-init's encodings.
func parseMetadata(text, encoding string) (guestMetadata, error) {
	var m guestMetadata
	data, err := decodeMetadata(text, encoding)
	if err != nil {
		return m, fmt.Errorf("decoding metadata: %w", err)
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("parsing metadata: %w", err)
	}
	return m, nil
}

func decodeMetadata(text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case "base64", "b64":
		return base64.StdEncoding.DecodeString(text)
	case "gzip+base64", "gz+b64":
		zipped, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		reader, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(reader, 1<<20))
	}
	return nil, fmt.Errorf("unknown encoding %q", encoding)
}

// card returns the configuration of the card with this MAC address. A card without configuration uses DHCP.
func (m guestMetadata) card(mac string) ethernet {
	for _, e := range m.Network.Ethernets {
		if strings.EqualFold(e.Match.MAC, mac) {
			return e
		}
	}
	return ethernet{DHCP4: true}
}

// static returns the static addresses.
func (e ethernet) static() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range e.Addresses {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}
