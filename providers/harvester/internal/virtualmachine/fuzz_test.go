// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"testing"

	"sigs.k8s.io/yaml"
)

// Bootstrap data must reach the guest byte for byte, whatever the data and the key contain.
func FuzzUserData(f *testing.F) {
	f.Add([]byte("#cloud-config\nruncmd: []\n"), "ssh-ed25519 AAAA user@host", "admin", false)
	f.Add([]byte("## template: jinja\n#cloud-config\nx: {{ ds }}\n"), "a: b\n- c", "", false)
	f.Add([]byte("#cloud-config\n"), "\x7f\x00\u0085", "\u009f", false)
	f.Add([]byte(`{"ignition":{}}`), "", "", true)
	f.Fuzz(func(t *testing.T, data []byte, key, user string, ignition bool) {
		bootstrap := Bootstrap{Data: data, Ignition: ignition}
		made, err := userData(bootstrap, key, user, "boundary")
		if err != nil {
			t.Fatal(err)
		}
		if !bootstrap.AcceptsKeys() {
			if !bytes.Equal(made, data) {
				t.Fatalf("%q became %q", data, made)
			}
			return
		}
		parts := partsOf(t, made)
		if len(parts) != 2 || !bytes.Equal(parts[0], data) {
			t.Fatalf("%q became %q", data, parts)
		}
		if err := yaml.UnmarshalStrict(parts[1], &addition{}); err != nil {
			t.Fatalf("our part is %q: %v", parts[1], err)
		}
	})
}

// partsOf parses user data as cloud-init does.
func partsOf(t *testing.T, made []byte) [][]byte {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for reader := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, content)
	}
}
