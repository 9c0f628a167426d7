// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import "os"

// podScript mounts a folder of its own over /run, says there which namespace it runs in, and becomes the program.
const podScript = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
printf %s "$POD_NAMESPACE" >/run/secrets/kubernetes.io/serviceaccount/namespace
exec "$@"`

// inPod has a program find its namespace in the file in which a pod has it: some find it nowhere else. It takes Linux.
func inPod(c command) command {
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	c.args = append(append(args, "sh", "-c", podScript, c.name, c.program), c.args...)
	c.program = "unshare"
	return c
}
