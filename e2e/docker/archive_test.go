// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source := filepath.Join(t.TempDir(), "program")
	g.Expect(os.WriteFile(source, []byte("binary"), 0o600)).To(Succeed())
	var archive bytes.Buffer
	g.Expect(Archive(&archive, []File{
		{Path: "/etc/passwd", Content: []byte("root")},
		{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Path: "/sbin/init", Link: "/usr/lib/systemd/systemd"},
		{Path: "/manager", From: source, Mode: 0o755},
	})).To(Succeed())

	var got []string
	for reader := tar.NewReader(&archive); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(reader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(h.Uid + h.Gid).To(BeZero())
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name+h.Linkname+" "+string(content))
	}
	g.Expect(got).To(Equal([]string{
		"-rw-r--r-- etc/passwd root",
		"dtrwxrwxrwx tmp/ ",
		"Lrw-r--r-- sbin/init/usr/lib/systemd/systemd ",
		"-rwxr-xr-x manager binary",
	}))
}

func TestArchiveNamesMissingFile(t *testing.T) {
	t.Parallel()
	err := Archive(io.Discard, []File{{Path: "/manager", From: filepath.Join(t.TempDir(), "gone")}})
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("/manager"), ContainSubstring("gone"))))
}

func TestSumCoversImageContent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sum := func(files []File, words ...string) string {
		s, err := SumFiles(files, words...)
		g.Expect(err).NotTo(HaveOccurred())
		return s
	}
	file := File{Path: "/a", Content: []byte("x")}
	sums := map[string]bool{
		sum([]File{file}):                                         true,
		sum([]File{file}, "USER 1"):                               true,
		sum([]File{{Path: "/b", Content: []byte("x")}}):           true,
		sum([]File{{Path: "/a", Content: []byte("y")}}):           true,
		sum([]File{{Path: "/a", Content: file.Content, Mode: 1}}): true,
		sum([]File{file, {Path: "/l", Link: "/a"}}):               true,
	}
	g.Expect(sums).To(HaveLen(6))
	g.Expect(sum([]File{file})).To(Equal(sum([]File{file})))
}
