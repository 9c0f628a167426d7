// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guestinfo

import (
	"bytes"
	"encoding/base64"
	"maps"
	"testing"
)

// Bootstrap data come from a Secret that other controllers write.
func FuzzBootstrap(f *testing.F) {
	f.Add("", []byte("#cloud-config\n"))
	f.Add("ignition", []byte(base64.StdEncoding.EncodeToString([]byte(`{"ignition":{}}`))))
	f.Add("cloud-config", []byte("\n"))
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		settings, err := Bootstrap(format, data)
		if err != nil {
			return
		}
		key := UserDataKey
		if format == "ignition" {
			key = IgnitionKey
		}
		content, err := base64.StdEncoding.DecodeString(settings[key])
		if err != nil || len(content) == 0 || len(content) > len(data) || len(settings) != 2 || settings[key+".encoding"] != encoding {
			t.Fatalf("%q became %v: %v", data, settings, err)
		}
		if _, err := base64.StdEncoding.DecodeString(string(data)); err != nil && !bytes.Equal(content, data) {
			t.Fatalf("plain data %q became %q", data, content)
		}
		if again, err := Bootstrap(format, content); err != nil || !maps.Equal(again, settings) {
			t.Fatalf("%q became %v, and that %v: %v", data, settings, again, err)
		}
	})
}
