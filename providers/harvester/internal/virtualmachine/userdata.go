// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/faultline-io/faultline/shared/text"
)

// Bootstrap holds the data from a machine's bootstrap provider.
type Bootstrap struct {
	Data []byte
	// Ignition reports that the data are for Ignition instead of cloud-init.
	Ignition bool
}

// AcceptsKeys reports whether a key can be added to the data.
func (b Bootstrap) AcceptsKeys() bool { return !b.Ignition && isPart(b.Data) }

// userDataHeaders lists the first lines that cloud-init recognises regardless of the content type. Other data are compressed, already
// multipart, or for another program such as Talos.
func userDataHeaders() []string {
	return []string{"#cloud-config", "## template: jinja", "#!/", "#cloud-boothook", "#include", "#part-handler"}
}

// addition is Faultline's part of the user data; its fields are in the order of output.
type addition struct {
	MergeHow      []merger   `json:"merge_how"`
	PackageUpdate bool       `json:"package_update"`
	Packages      []string   `json:"packages"`
	RunCommands   [][]string `json:"runcmd"`
	SSHKeys       []string   `json:"ssh_authorized_keys,omitempty"`
	Users         []any      `json:"users,omitempty"`
}

type merger struct {
	Name     string   `json:"name"`
	Settings []string `json:"settings"`
}

type user struct {
	Name    string   `json:"name"`
	SSHKeys []string `json:"ssh_authorized_keys"`
}

// addressReport installs and starts the guest agent, which reports the guest's addresses to Harvester. It runs before the commands of the
// bootstrap data: a control plane waits for its endpoint, which may wait for the address of its first machine.
func addressReport() addition {
	return addition{
		// Values of the bootstrap data are kept; Faultline's list items come before them.
		MergeHow: []merger{
			{Name: "list", Settings: []string{"prepend"}}, {Name: "dict", Settings: []string{"no_replace", "recurse_list"}},
		},
		PackageUpdate: true, Packages: []string{"qemu-guest-agent"},
		RunCommands: [][]string{{"systemctl", "enable", "--now", "qemu-guest-agent.service"}},
	}
}

// userData adds the guest agent and the key to the bootstrap data, as a second part. The first part holds the bootstrap data
// unchanged, so that templates in it still work. Data that cloud-init does not read, or cannot read as a part, are returned
// unchanged.
func userData(bootstrap Bootstrap, publicKey, sshUser, boundary string) ([]byte, error) {
	if !bootstrap.AcceptsKeys() {
		return bootstrap.Data, nil
	}
	ours := addressReport()
	if publicKey = strings.TrimSpace(publicKey); publicKey != "" {
		ours.SSHKeys = []string{publicKey}
		if sshUser != "" {
			ours.Users = []any{"default", user{Name: sshUser, SSHKeys: ours.SSHKeys}}
		}
	}
	part, err := text.YAML(ours)
	if err != nil {
		return nil, fmt.Errorf("writing cloud-config: %w", err)
	}
	return archive(boundary, bootstrap.Data, append([]byte("#cloud-config\n"), part...))
}

func isPart(data []byte) bool {
	for _, start := range userDataHeaders() {
		if bytes.HasPrefix(data, []byte(start)) {
			return true
		}
	}
	return false
}

// archive returns a MIME message of parts. cloud-init detects their types by their first lines. They are base64-encoded to preserve every
// byte.
func archive(boundary string, parts ...[]byte) ([]byte, error) {
	var message bytes.Buffer
	w := multipart.NewWriter(&message)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, fmt.Errorf("separating parts of user data: %w", err)
	}
	fmt.Fprintf(&message, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\n\n", boundary)
	for i, content := range parts {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Type": {`text/plain; charset="utf-8"`}, "Content-Transfer-Encoding": {"base64"},
			"Content-Disposition": {fmt.Sprintf(`attachment; filename="part-%03d"`, i+1)},
		})
		if err != nil {
			return nil, fmt.Errorf("adding a part of user data: %w", err)
		}
		if _, err := part.Write(lines(base64.StdEncoding.EncodeToString(content))); err != nil {
			return nil, fmt.Errorf("adding a part of user data: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("ending user data: %w", err)
	}
	return message.Bytes(), nil
}

// lines wraps an encoded text as MIME requires.
func lines(encoded string) []byte {
	const width = 76
	var b strings.Builder
	for len(encoded) > width {
		b.WriteString(encoded[:width] + "\n")
		encoded = encoded[width:]
	}
	b.WriteString(encoded + "\n")
	return []byte(b.String())
}
