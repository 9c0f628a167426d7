// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"context"
	"fmt"
	"io"
	"io/fs"
)

// NonRoot is the user of programs that need no privileges.
const NonRoot = "65532:65532"

// certificates is the path of the CA certificates that this machine trusts, as on Debian.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// Image is an image with only a few files.
type Image struct {
	Name       string // including the tag
	Files      []File
	Entrypoint string
	User       string
}

// ProgramImage returns an image with one static program and the files that such a program may need: users, CA certificates and a folder
// for temporary files.
func ProgramImage(name, binary, entrypoint, user string) Image {
	return Image{
		Name: name, Entrypoint: entrypoint, User: user,
		Files: []File{
			{Path: "/etc/passwd", Content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
			{Path: "/etc/group", Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
			{Path: certificates, From: certificates},
			{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
			{Path: entrypoint, From: binary, Mode: 0o755},
		},
	}
}

// Ensure imports the image unless Docker has one from the same inputs.
func (i Image) Ensure(ctx context.Context, d Docker) (built bool, err error) {
	sum, err := SumFiles(i.Files, i.Entrypoint, i.User)
	if err != nil {
		return false, fmt.Errorf("identifying image %s: %w", i.Name, err)
	}
	have, err := d.Source(ctx, i.Name)
	if err != nil || have == sum {
		return false, err
	}
	err = d.FeedFrom(ctx, func(w io.Writer) error { return Archive(w, i.Files) }, "import",
		"--change", fmt.Sprintf("ENTRYPOINT [%q]", i.Entrypoint), "--change", "USER "+i.User, "--change", "WORKDIR /",
		"--change", fmt.Sprintf("LABEL %s=%s", SourceLabel, sum), "-", i.Name)
	if err != nil {
		return false, fmt.Errorf("building image %s: %w", i.Name, err)
	}
	return true, d.RemoveReplaced(ctx)
}
