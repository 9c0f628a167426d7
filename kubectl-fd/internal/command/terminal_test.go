// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
)

// styleOf returns the style of an output with these environment variables.
func styleOf(out io.Writer, variables map[string]string) render.Style {
	r := &root{Options: Options{
		IOStreams: genericiooptions.IOStreams{Out: out}, Now: func() time.Time { return time.Time{} },
		Environment: func(name string) string { return variables[name] },
	}}
	return r.style()
}

func TestNoTerminal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(styleOf(&bytes.Buffer{}, nil)).To(Equal(render.Style{}))
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	g.Expect(styleOf(file, nil)).To(Equal(render.Style{}))
}

func TestTerminalColours(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals are available: ", err)
	}
	defer func() { _ = terminal.Close() }()
	g.Expect(styleOf(terminal, nil)).To(Equal(render.Style{Width: usual, Colour: true}), "one that does not say how wide it is")
	g.Expect(styleOf(terminal, map[string]string{"NO_COLOR": "1"}).Colour).To(BeFalse())
	g.Expect(styleOf(terminal, map[string]string{"TERM": "dumb"}).Colour).To(BeFalse())
}
