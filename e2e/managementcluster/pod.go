// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import "os"

// podScript mounts a private folder over /run, writes the namespace there, and executes the program.
const podScript = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
printf %s "$POD_NAMESPACE" >/run/secrets/kubernetes.io/serviceaccount/namespace
exec "$@"`

// inPod makes a program find its namespace in the same file as in a pod, because some programs read it only there. It requires Linux.
func inPod(c command) command {
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	c.args = append(append(args, "sh", "-c", podScript, c.name, c.program), c.args...)
	c.program = "unshare"
	return c
}
