// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/faultline-io/faultline/e2e/docker"
)

const (
	// tables is the one program behind every iptables command.
	tables = "/usr/sbin/xtables-nft-multi"
	// extensions of iptables are opened by name when a rule asks for one.
	extensions = "/usr/lib/*/xtables/*.so"
)

// packetFilter is what kube-proxy calls: iptables in its nftables form, which is
// Debian's choice, with the libraries that it loads. They come from the node's own
// packages, so that node and kube-proxy write the same kind of rules.
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

// libraries reads the paths out of what ldd writes, each once.
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

// fromRoot are files of a folder that is a system's root, with the content that
// links among them stand for.
func fromRoot(root string, paths []string) ([]docker.File, error) {
	var files []docker.File
	for _, p := range paths {
		from, err := follow(root, p)
		if err != nil {
			return nil, err
		}
		files = append(files, docker.File{Path: p, From: from, Mode: 0o755})
	}
	return files, nil
}

// follow resolves a path as it would be from within root.
func follow(root, p string) (string, error) {
	const most = 16
	resolved := "/"
	rest := strings.Split(strings.Trim(p, "/"), "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(resolved, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil { // No link.
			resolved = next
			continue
		}
		if links++; links > most {
			return "", fmt.Errorf("resolving %s: too many links", p)
		}
		if path.IsAbs(target) {
			resolved = "/"
		}
		rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
	}
	return filepath.Join(root, resolved), nil
}
