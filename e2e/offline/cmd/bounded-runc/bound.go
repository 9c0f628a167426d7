// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sysResource is the capability that is needed to lower an OOM score.
const sysResource = "CAP_SYS_RESOURCE"

// capabilities lists the kernel's capabilities in the order of their bits.
func capabilities() []string {
	return strings.Fields(`
		CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID CAP_SETPCAP
		CAP_LINUX_IMMUTABLE CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_IPC_OWNER
		CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_CHROOT CAP_SYS_PTRACE CAP_SYS_PACCT CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_NICE
		CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_MKNOD CAP_LEASE CAP_AUDIT_WRITE CAP_AUDIT_CONTROL CAP_SETFCAP
		CAP_MAC_OVERRIDE CAP_MAC_ADMIN CAP_SYSLOG CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_AUDIT_READ CAP_PERFMON CAP_BPF
		CAP_CHECKPOINT_RESTORE`)
}

// missingCapabilities parses /proc/<pid>/status and returns the capabilities that are not in the process's bounding set.
func missingCapabilities(status string) ([]string, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "CapBnd:")
		if !ok {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("reading the bounding set: %w", err)
		}
		var missing []string
		for bit, name := range capabilities() {
			if set&(1<<bit) == 0 {
				missing = append(missing, name)
			}
		}
		return missing, nil
	}
	return nil, errors.New("reading the bounding set: no CapBnd found")
}

// descriptions returns the files that describe the process to run: the bundle's config.json if runc creates a container, the process file
// if it adds a process.
func descriptions(args []string) []string {
	var files []string
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--bundle", "-b":
			files = append(files, filepath.Join(value, "config.json"))
		case "--process", "-p":
			files = append(files, value)
		}
	}
	return files
}

// bound rewrites a description. runc reports a missing one.
func bound(path string, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if content, err = without(content, missing); err != nil {
		return err
	}
	return os.WriteFile(path, content, info.Mode().Perm())
}

// without removes the capabilities from the description of a container or of a process.
func without(description []byte, missing []string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(description))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	process := document
	if inner, ok := document["process"].(map[string]any); ok {
		process = inner
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, set := range sets {
		if list, ok := set.([]any); ok {
			sets[name] = slices.DeleteFunc(list, func(c any) bool {
				capability, _ := c.(string)
				return slices.Contains(missing, capability)
			})
		}
	}
	if score, ok := process["oomScoreAdj"].(json.Number); ok && slices.Contains(missing, sysResource) && strings.HasPrefix(score.String(), "-") {
		process["oomScoreAdj"] = 0
	}
	return json.Marshal(document)
}
