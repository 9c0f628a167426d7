// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	suite  = "bookworm"
	mirror = "http://deb.debian.org/debian"
	// debianName precedes a checksum of the packages.
	debianName = "faultline/debian:"
	// debianFolder is the folder that Debian is installed into, without the same checksum.
	debianFolder = "debian-"
	// debootstrap is the name of the program that installs it, and of its package.
	debootstrap = "debootstrap"
)

// packages returns the packages of a node in addition to Debian's required ones: an init system, programs that the kubelet, kube-proxy
// and containerd call, and programs of kind's scripts.
func packages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "runc", "libseccomp2", "kmod", "procps",
		"iproute2", "iptables", "nftables", "conntrack", "ethtool", "socat", "ebtables", "ipset",
		"ca-certificates", "curl", "jq", "e2fsprogs",
	}
}

// surplus lists services that a machine starts and a container must not. Kind's own image removes the same.
func surplus() []string {
	return []string{
		"lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
		"lib/systemd/system/multi-user.target.wants/*",
		"etc/systemd/system/*.wants/*",
		"lib/systemd/system/local-fs.target.wants/*",
		"lib/systemd/system/sockets.target.wants/*udev*",
		"lib/systemd/system/sockets.target.wants/*initctl*",
		"lib/systemd/system/basic.target.wants/*",
		"var/cache/apt/archives/*.deb",
		"var/lib/apt/lists/*_*",
		"var/log/*.log",
		"usr/share/doc/*",
		"usr/share/man/*",
		"usr/share/locale/*",
	}
}

// debian returns the name of the image with Debian and the node's packages. It is built once for a list of packages, and again if Docker
// no longer has it.
func (b NodeImages) debian(ctx context.Context) (string, error) {
	sum, err := docker.SumFiles(nil, append(append(packages(), surplus()...), suite, runtime.GOARCH)...)
	if err != nil {
		return "", err
	}
	name := debianName + sum
	if id, err := b.Docker.ImageID(ctx, name); err != nil || id != "" {
		return name, err
	}
	root, err := b.debootstrap(ctx, sum)
	if err != nil {
		return "", fmt.Errorf("installing Debian into a directory: %w", err)
	}
	return name, b.importFolder(ctx, root, name)
}

// debootstrap installs Debian into a folder of the cache, and returns the folder.
func (b NodeImages) debootstrap(ctx context.Context, sum string) (string, error) {
	root := filepath.Join(b.Dir, debianFolder+sum)
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if os.Geteuid() != 0 {
		return "", errors.New("building needs root: run it as root, or use published images")
	}
	if err := b.installTools(ctx); err != nil {
		return "", err
	}
	fresh := root + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	_, err := b.Docker.Runner.Run(ctx, debootstrap, "--variant=minbase",
		"--include="+strings.Join(packages(), ","), suite, fresh, mirror)
	if err != nil {
		return "", err
	}
	if err := removeSurplus(fresh); err != nil {
		return "", err
	}
	return root, os.Rename(fresh, root)
}

// Prepare installs what Node needs to install Debian, if that is allowed. Otherwise it fails before anything is built.
func (b NodeImages) Prepare(ctx context.Context) error {
	if made, err := filepath.Glob(filepath.Join(b.Dir, debianFolder+"*")); err != nil || len(made) > 0 {
		return err
	}
	return b.installTools(ctx)
}

func (b NodeImages) installTools(ctx context.Context) error {
	if found(debootstrap) {
		return nil
	}
	return install(ctx, b.Docker.Runner, debootstrap)
}

func removeSurplus(root string) error {
	for _, pattern := range surplus() {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// importFolder imports a folder unchanged, including owners, as an image.
func (b NodeImages) importFolder(ctx context.Context, root, name string) error {
	archive := func(w io.Writer) error {
		return b.Docker.Stream(ctx, tool.Streams{Out: w}, "tar", "-C", root, "--numeric-owner",
			"--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*", "-cf", "-", ".")
	}
	return b.Docker.FeedFrom(ctx, archive, "import", "-", name)
}
