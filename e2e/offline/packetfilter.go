// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"

	"github.com/faultline-io/faultline/e2e/docker"
)

const (
	// tables is the program behind every iptables command.
	tables = "/usr/sbin/xtables-nft-multi"
	// extensions are libraries that iptables opens by name when a rule needs one.
	extensions = "/usr/lib/*/xtables/*.so"
)

// packetFilter returns the programs that kube-proxy calls: iptables in its nftables variant, which is Debian's default, with its
// libraries. They come from the node's own packages, so that node and kube-proxy write the same kind of rules.
func (b NodeImages) packetFilter(ctx context.Context, debian string) ([]docker.File, error) {
	root, err := b.debootstrap(ctx, strings.TrimPrefix(debian, debianName))
	if err != nil {
		return nil, err
	}
	plugins, err := filepath.Glob(filepath.Join(root, extensions))
	if err != nil {
		return nil, err
	}
	needed := []string{tables}
	for _, plugin := range plugins {
		needed = append(needed, strings.TrimPrefix(plugin, root))
	}
	out, err := b.Docker.Runner.Run(ctx, "chroot", append([]string{root, "ldd"}, needed...)...)
	if err != nil {
		return nil, fmt.Errorf("listing the libraries of iptables: %w", err)
	}
	files, err := fromRoot(root, append(needed, libraries(out)...))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"iptables", "ip6tables"} {
		for _, form := range []string{"", "-save", "-restore"} {
			files = append(files, docker.File{Path: "/usr/sbin/" + name + form, Link: path.Base(tables)})
		}
	}
	return files, nil
}

// libraries returns the distinct paths in the output of ldd.
func libraries(ldd string) []string {
	var paths []string
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(ldd) {
		if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") && !seen[word] {
			seen[word] = true
			paths = append(paths, word)
		}
	}
	return paths
}

// fromRoot returns files of a system's root folder, with links among them resolved.
func fromRoot(root string, paths []string) ([]docker.File, error) {
	var files []docker.File
	for _, p := range paths {
		from, err := securejoin.SecureJoin(root, p)
		if err != nil {
			return nil, err
		}
		files = append(files, docker.File{Path: p, From: from, Mode: 0o755})
	}
	return files, nil
}
