// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docker runs Docker through its command line, so that users can repeat commands from the log. It also builds images from files,
// without a registry for base images: images of programs, of machines, and of the simulators that run machines as containers.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/faultline-io/faultline/e2e/tool"
)

const program = "docker"

// SourceLabel is the label with the checksum of an image's inputs.
const SourceLabel = "io.faultline.source"

// Docker runs docker commands.
type Docker struct{ tool.Runner }

// Run runs docker with the arguments and returns its standard output.
func (d Docker) Run(ctx context.Context, args ...string) (string, error) {
	out, err := d.Runner.Run(ctx, program, args...)
	return strings.TrimSpace(out), err
}

// Feed runs docker with the arguments and in as its standard input.
func (d Docker) Feed(ctx context.Context, in io.Reader, args ...string) error {
	return d.Stream(ctx, tool.Streams{In: in}, program, args...)
}

// Exec runs a command in a container and returns its standard output.
func (d Docker) Exec(ctx context.Context, container string, args ...string) (string, error) {
	return d.Run(ctx, append([]string{"exec", container}, args...)...)
}

// Source returns the image's SourceLabel, or "" if the image does not exist.
func (d Docker) Source(ctx context.Context, image string) (string, error) {
	return d.inspect(ctx, `{{index .Config.Labels "`+SourceLabel+`"}}`, image)
}

// ImageID returns the ID of an image, or "" if it does not exist.
func (d Docker) ImageID(ctx context.Context, image string) (string, error) {
	return d.inspect(ctx, "{{.Id}}", image)
}

// RemoveReplaced removes our images whose tag a newer build has taken: they would fill the disk, more with each change of the sources.
// Images of containers stay.
func (d Docker) RemoveReplaced(ctx context.Context) error {
	_, err := d.Run(ctx, "image", "prune", "--force", "--filter", "label="+SourceLabel)
	return err
}

func (d Docker) inspect(ctx context.Context, format, image string) (string, error) {
	out, err := d.Run(ctx, "image", "inspect", "--format", format, image)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such image") {
		return "", nil
	}
	return out, err
}

// Subnet returns the first IPv4 subnet of a network.
func (d Docker) Subnet(ctx context.Context, network string) (*net.IPNet, error) {
	out, err := d.Run(ctx, "network", "inspect", network, "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		return nil, err
	}
	for subnet := range strings.FieldsSeq(out) {
		if _, parsed, err := net.ParseCIDR(subnet); err == nil && parsed.IP.To4() != nil {
			return parsed, nil
		}
	}
	return nil, fmt.Errorf("network %s has no IPv4 addresses", network)
}

// Remove removes containers, running or not, with their anonymous volumes. Containers that do not exist are ignored.
func (d Docker) Remove(ctx context.Context, names ...string) error {
	_, err := d.Run(ctx, append([]string{"rm", "--force", "--volumes"}, names...)...)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	return err
}

// FeedFrom runs docker with the arguments and what write writes as its standard input, without a temporary file.
func (d Docker) FeedFrom(ctx context.Context, write func(io.Writer) error, args ...string) error {
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(writer)
		_ = writer.CloseWithError(err)
		written <- err
	}()
	err := d.Feed(ctx, reader, args...)
	// Writing without a reader must not block forever.
	_ = reader.CloseWithError(io.ErrClosedPipe)
	if writeErr := <-written; err != nil && !errors.Is(writeErr, io.ErrClosedPipe) {
		err = errors.Join(writeErr, err)
	}
	return err
}

// Pipe streams saved images to the standard input of a command in a container.
func (d Docker) Pipe(ctx context.Context, images []string, container string, args ...string) error {
	save := func(w io.Writer) error {
		return d.Stream(ctx, tool.Streams{Out: w}, program, append([]string{"save"}, images...)...)
	}
	return d.FeedFrom(ctx, save, append([]string{"exec", "--interactive", container}, args...)...)
}

// AddFiles adds files to the file system of a container.
func (d Docker) AddFiles(ctx context.Context, container string, files []File) error {
	return d.FeedFrom(ctx, func(w io.Writer) error { return Archive(w, files) }, "cp", "-", container+":/")
}
