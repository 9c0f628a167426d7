// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/faultline-io/faultline/shared/testenv"
)

// schedulerProgram is in the folder of the API server.
const schedulerProgram = "kube-scheduler"

// schedulerConfiguration makes kube-scheduler retry unschedulable Pods soon. It is the only instance and needs no leader election.
const schedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

// StartScheduler starts kube-scheduler with an administrator's kubeconfig; its files are in folder.
func StartScheduler(ctx context.Context, assets string, kubeconfig []byte, folder string) (*Process, error) {
	assets, err := testenv.Assets(assets)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", schedulerProgram, err)
	}
	access, config := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "scheduler.yaml")
	if err := os.WriteFile(access, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", schedulerProgram, err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfiguration, access), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of %s: %w", schedulerProgram, err)
	}
	return Start(ctx, Command{
		Name: schedulerProgram, Path: filepath.Join(assets, schedulerProgram), Args: []string{"--config=" + config, "--secure-port=0"}, Log: filepath.Join(folder, schedulerProgram+".log"),
	})
}
