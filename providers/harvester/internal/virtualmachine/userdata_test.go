// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

// parts parses user data as cloud-init does.
func parts(t *testing.T, data []byte) [][]byte {
	t.Helper()
	g := NewWithT(t)
	message, err := mail.ReadMessage(bytes.NewReader(data))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(message.Header.Get("MIME-Version")).To(Equal("1.0"))
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kind).To(Equal("multipart/mixed"))
	var all [][]byte
	for reader := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(part.Header.Get("Content-Type")).To(HavePrefix("text/plain")) // cloud-init then detects it by its first line
		g.Expect(part.Header.Get("Content-Transfer-Encoding")).To(Equal("base64"))
		content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, content)
	}
}

func TestBootstrapDataIsNotModified(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"cloud-config":      "#cloud-config\nruncmd:\n- kubeadm init\n",
		"a template of it":  "## template: jinja\n#cloud-config\nwrite_files:\n- content: |\n    {{ ds.meta_data.local_hostname }} ü\r\n",
		"a script":          "#!/bin/sh\necho --machine-0a1b2c3d\n",
		"without a newline": "#cloud-config",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := input()
			in.Bootstrap.Data = []byte(data)
			_, secret := build(t, in)
			found := parts(t, secret.Data["userdata"])
			g.Expect(found).To(HaveLen(2))
			g.Expect(string(found[0])).To(Equal(data))

			g.Expect(string(found[1])).To(HavePrefix("#cloud-config\n"))
			var added map[string]any
			g.Expect(yaml.Unmarshal(found[1], &added)).To(Succeed())
			g.Expect(added["packages"]).To(Equal([]any{"qemu-guest-agent"}))
			g.Expect(added["runcmd"]).To(HaveLen(1))
			g.Expect(added["ssh_authorized_keys"]).To(Equal([]any{"ssh-ed25519 AAAA me"}))
			g.Expect(added["users"]).To(Equal([]any{"default", map[string]any{"name": "ubuntu", "ssh_authorized_keys": []any{"ssh-ed25519 AAAA me"}}}))
			// Without merge_how, a part replaces values of the same name in earlier parts, such as their commands.
			g.Expect(added["merge_how"]).To(Equal([]any{
				map[string]any{"name": "list", "settings": []any{"prepend"}},
				map[string]any{"name": "dict", "settings": []any{"no_replace", "recurse_list"}},
			}))
		})
	}
}

func TestBootstrapDataThatCannotBeAPart(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"Talos": "#!talos\nversion: v1alpha1\n", "compressed": "\x1f\x8b\x08\x00", "in parts already": "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n",
		"plain YAML": "version: v1alpha1\n", "none": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Bootstrap.Data = []byte(data)
			_, secret := build(t, in)
			NewWithT(t).Expect(string(secret.Data["userdata"])).To(Equal(data))
			NewWithT(t).Expect(in.Bootstrap.AcceptsKeys()).To(BeFalse())
		})
	}
}

func TestIgnitionUsesConfigDrive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.Bootstrap = virtualmachine.Bootstrap{Data: []byte(`{"ignition":{"version":"3.3.0"}}`), Ignition: true}
	vm, secret := build(t, in)
	g.Expect(string(secret.Data["userdata"])).To(Equal(`{"ignition":{"version":"3.3.0"}}`))
	volume := vm.Spec.Template.Spec.Volumes[2]
	g.Expect(volume.CloudInitNoCloud).To(BeNil())
	g.Expect(volume.CloudInitConfigDrive.UserDataSecretRef.Name).To(Equal("m1-cloud-init"))
}

func TestUserDataWithoutKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.KeyPair, in.PublicKey = "", ""
	vm, secret := build(t, in)
	var added map[string]any
	g.Expect(yaml.Unmarshal(parts(t, secret.Data["userdata"])[1], &added)).To(Succeed())
	g.Expect(added).NotTo(Or(HaveKey("ssh_authorized_keys"), HaveKey("users")))
	g.Expect(vm.Spec.Template.ObjectMeta.Annotations).To(HaveKeyWithValue("harvesterhci.io/sshNames", "[]"))
}
