// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guestinfo creates the data that a guest reads at boot from keys of the virtual machine's extra configuration, through
// cloud-init's VMware datasource or Ignition. Its functions are pure.
package guestinfo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Keys owned by the provider. A key of customVMXKeys with one of these names would be overwritten.
const (
	MetadataKey         = "guestinfo.metadata"
	MetadataEncodingKey = "guestinfo.metadata.encoding"
	UserDataKey         = "guestinfo.userdata"
	UserDataEncodingKey = "guestinfo.userdata.encoding"
	IgnitionKey         = "guestinfo.ignition.config.data"
	IgnitionEncodingKey = "guestinfo.ignition.config.data.encoding"
)

const encoding = "base64"

// Bootstrap returns the extra configuration for bootstrap data in a format of the Cluster API contract, cloud-config or
// ignition. An empty format means cloud-config. Data that is already base64, which upstream accepts, is decoded first: plain
// text of either format is never valid base64.
func Bootstrap(format string, data []byte) (map[string]string, error) {
	data = plain(data)
	if len(data) == 0 {
		return nil, fmt.Errorf("key value must not be empty")
	}
	content := base64.StdEncoding.EncodeToString(data)
	switch format {
	case "", "cloud-config":
		return map[string]string{UserDataKey: content, UserDataEncodingKey: encoding}, nil
	case "ignition":
		return map[string]string{IgnitionKey: content, IgnitionEncodingKey: encoding}, nil
	default:
		return nil, fmt.Errorf("key format is %q: it must be cloud-config or ignition", format)
	}
}

// plain decodes base64 as often as it was encoded.
func plain(data []byte) []byte {
	for len(data) > 0 {
		decoded, err := base64.StdEncoding.DecodeString(string(data))
		if err != nil {
			break
		}
		data = decoded
	}
	return data
}

// Has reports whether a virtual machine's extra configuration contains the bootstrap data.
func Has(settings, bootstrap map[string]string) bool {
	for key, value := range bootstrap {
		if settings[key] != value {
			return false
		}
	}
	return len(bootstrap) > 0
}

// Hash returns a hash of what Metadata creates from a name and a network, regardless of the MAC addresses.
func Hash(hostname string, network any) (string, error) {
	data, err := json.Marshal([]any{hostname, network})
	if err != nil {
		return "", fmt.Errorf("hashing the network of %s: %w", hostname, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
