// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// schedulerProgram is the program, which is looked for beside the API server's.
const schedulerProgram = "kube-scheduler"

// assetsVariable names the folder with etcd, kube-apiserver and kube-scheduler.
const assetsVariable = "KUBEBUILDER_ASSETS"

// configuration lets kube-scheduler try again soon what did not fit. It is alone, so that there is no leader to elect.
const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

func findScheduler(assets string) (string, error) {
	path := filepath.Join(cmp.Or(assets, os.Getenv(assetsVariable)), schedulerProgram)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(schedulerProgram)
	if err != nil {
		return "", fmt.Errorf("%w: %s must name a folder with it: cd e2e && go run ./cmd/binaries --assets --print-path", err, assetsVariable)
	}
	return path, nil
}

// StartScheduler starts it with the kubeconfig of an administrator; its files are in folder.
func StartScheduler(ctx context.Context, assets string, kubeconfig []byte, folder string) (*Process, error) {
	path, err := findScheduler(assets)
	if err != nil {
		return nil, err
	}
	access, config := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "scheduler.yaml")
	if err := os.WriteFile(access, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", schedulerProgram, err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, access), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of %s: %w", schedulerProgram, err)
	}
	return Start(ctx, Command{
		Name: schedulerProgram, Path: path, Args: []string{"--config=" + config, "--secure-port=0"}, Log: filepath.Join(folder, schedulerProgram+".log"),
	})
}
