// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSubnet(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	answer := func(text string) {
		g.Expect(os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/sh\necho '"+text+"'\n"), 0o700)).To(Succeed())
	}
	answer("fc00:f853:ccd:e793::/64 172.18.0.0/16 ")
	subnet, err := Docker{}.Subnet(t.Context(), "kind")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(subnet.String()).To(Equal("172.18.0.0/16"))
	for _, text := range []string{"", "fc00::/64 ", "nonsense "} {
		answer(text)
		_, err := Docker{}.Subnet(t.Context(), "kind")
		g.Expect(err).To(MatchError("network kind has no IPv4 addresses"), text)
	}
}

func TestFeedFrom(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	got := filepath.Join(folder, "got")
	broken := errors.New("broken archive")
	for name, tc := range map[string]struct {
		docker string
		write  func(io.Writer) error
		want   string // in the error
	}{
		"all is read":            {"cat >" + got, func(w io.Writer) error { _, err := io.WriteString(w, "content"); return err }, ""},
		"writing fails":          {"cat >" + got, func(io.Writer) error { return broken }, broken.Error()},
		"docker fails":           {"echo no space >&2; exit 1", func(w io.Writer) error { _, err := io.WriteString(w, "content"); return err }, "no space"},
		"docker stops reading":   {"exit 1", func(w io.Writer) error { return endless(w) }, "exit status 1"},
		"docker needs no more":   {"exit 0", func(w io.Writer) error { return endless(w) }, ""},
		"docker and writer fail": {"cat >" + got + "; exit 1", func(io.Writer) error { return broken }, broken.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/sh\n"+tc.docker+"\n"), 0o700)).To(Succeed())
			err := Docker{}.FeedFrom(t.Context(), tc.write, "import", "-")
			if tc.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if name == "all is read" {
				g.Expect(os.ReadFile(got)).To(BeEquivalentTo("content"))
			}
		})
	}
}

// endless writes until the reader is closed.
func endless(w io.Writer) error {
	for {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return err
		}
	}
}
