// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// limits returns kernel limits that all containers of a user share. Every node has a systemd, a containerd and a kubelet that watch
// files. Beyond these limits the next node does not start, without an obvious error.
func limits() map[string]int {
	return map[string]int{
		"fs/inotify/max_user_instances": 8192,
		"fs/inotify/max_user_watches":   1 << 20,
	}
}

// RaiseLimits raises the limits that are too low for several nodes. Without permission, it returns the commands for an administrator.
func RaiseLimits() (advice []string, err error) { return raise("/proc/sys") }

func raise(root string) (advice []string, err error) {
	for name, want := range limits() {
		path := filepath.Join(root, name)
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // Not Linux, or a kernel without the limit.
		}
		if err != nil {
			return nil, err
		}
		have, err := strconv.Atoi(strings.TrimSpace(string(content)))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if have >= want {
			continue
		}
		if err := os.WriteFile(path, []byte(strconv.Itoa(want)), 0o644); err != nil {
			advice = append(advice, fmt.Sprintf("sudo sysctl %s=%d", strings.ReplaceAll(name, "/", "."), want))
		}
	}
	return advice, nil
}
