// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/offline/programs"
)

const (
	kindEntrypoint = `["/usr/local/bin/entrypoint","/sbin/init"]`
	// productHook sets the product name that kind's nodes report in a container.
	productHook = "/kind/bin/mount-product-files.sh"
	units       = "/etc/systemd/system"
)

// files returns the files of a kind node in addition to Debian: kind's own files, the programs, and the enabled services.
func (b NodeImages) files(ctx context.Context, version, pause string) ([]docker.File, error) {
	files, err := b.kindFiles(pause)
	if err != nil {
		return nil, fmt.Errorf("reading kind's files: %w", err)
	}
	base, err := b.containerBase(ctx)
	if err != nil {
		return nil, err
	}
	files = append(files, b.programs()...)
	files = append(files,
		docker.File{Path: "/kind/version", Content: []byte(version)},
		docker.File{Path: "/etc/containerd/cri-base.json", Content: base},
		docker.File{Path: "/etc/kubernetes/manifests", Mode: fs.ModeDir | 0o755},
		// Kernel messages belong to the host, not to the node.
		docker.File{Path: "/etc/systemd/journald.conf.d/10-node.conf", Content: []byte("[Journal]\nReadKMsg=no\n")},
		// It would register formats with the host's kernel.
		docker.File{Path: units + "/systemd-binfmt.service", Link: "/dev/null"},
	)
	for _, unit := range []string{"kubelet.service", "containerd.service", "undo-mount-hacks.service"} {
		files = append(files, docker.File{Path: units + "/multi-user.target.wants/" + unit, Link: path.Join(units, unit)})
	}
	return files, nil
}

// kindFiles returns the files of kind's base image, with its file modes.
func (b NodeImages) kindFiles(pause string) ([]docker.File, error) {
	root := filepath.Join(b.Kind, "images", "base", "files")
	var files []docker.File
	err := filepath.WalkDir(root, func(from string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := "/" + filepath.ToSlash(strings.TrimPrefix(from, root+string(filepath.Separator)))
		file := docker.File{Path: to, From: from, Mode: 0o644}
		if strings.HasPrefix(to, "/usr/local/bin/") || strings.HasPrefix(to, "/kind/bin/") {
			file.Mode = 0o755
		}
		if to == "/etc/containerd/config.toml" {
			if file, err = containerdConfig(file, pause); err != nil {
				return err
			}
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

// containerdConfig adapts kind's configuration: it uses the existing sandbox image, and no OOM scores, which a host without
// CAP_SYS_RESOURCE refuses.
func containerdConfig(file docker.File, pause string) (docker.File, error) {
	content, err := os.ReadFile(file.From)
	if err != nil {
		return file, err
	}
	text, err := replaceLines(string(content), map[string]string{
		"sandbox_image":          `  sandbox_image = "` + pause + `"`,
		"restrict_oom_score_adj": "  restrict_oom_score_adj = true",
	})
	file.Content, file.From = []byte(text), ""
	return file, err
}

// replaceLines replaces the named settings; a missing one is an error.
func replaceLines(text string, settings map[string]string) (string, error) {
	lines := strings.Split(text, "\n")
	found := map[string]bool{}
	for i, line := range lines {
		name, _, ok := strings.Cut(strings.TrimSpace(line), " =")
		if replacement, wanted := settings[name]; ok && wanted {
			lines[i] = replacement
			found[name] = true
		}
	}
	for name := range settings {
		if !found[name] {
			return "", fmt.Errorf("containerd's configuration has no %s", name)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// programs returns the programs at the paths where kubeadm, kind and the services expect them.
func (b NodeImages) programs() []docker.File {
	folders := map[string]string{}
	for _, name := range []string{programs.Kubeadm, programs.Kubelet, programs.Kubectl} {
		folders[name] = "/usr/bin/" + name
	}
	for _, name := range []string{programs.Containerd, programs.Shim, programs.Ctr, programs.Crictl} {
		folders[name] = "/usr/local/bin/" + name
	}
	for _, plugin := range programs.CNIPlugins() {
		folders[programs.CNI(plugin)] = "/opt/cni/bin/" + plugin
	}
	var files []docker.File
	for _, name := range programs.Node() { // In a fixed order.
		if to, ok := folders[name]; ok {
			files = append(files, docker.File{Path: to, From: b.Programs[name], Mode: 0o755})
		}
	}
	return files
}

// containerBase returns the base specification of every container in a node: containerd's own, with kind's hook and without limits that a
// host may refuse.
func (b NodeImages) containerBase(ctx context.Context) ([]byte, error) {
	out, err := b.Docker.Runner.Run(ctx, b.Programs[programs.Ctr], "oci", "spec")
	if err != nil {
		return nil, err
	}
	return withHook([]byte(out))
}

func withHook(spec []byte) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(spec, &document); err != nil {
		return nil, fmt.Errorf("reading the description of a container: %w", err)
	}
	document["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": productHook}}}
	if process, ok := document["process"].(map[string]any); ok {
		delete(process, "rlimits")
	}
	return json.Marshal(document)
}
