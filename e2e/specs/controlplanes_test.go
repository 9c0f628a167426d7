//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"os"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/faultline-io/faultline/e2e/workload"
)

// controlPlanes gives each cluster its control-plane endpoint and the API servers behind it: they are kept in this
// process and listen where the pods of the kind cluster reach it.
type controlPlanes struct {
	host string
	port int
	stop func()
}

const (
	firstPort = 21000
	lastPort  = 21999
)

func newControlPlanes(ctx context.Context, kubeconfig string) (*controlPlanes, error) {
	host, err := environment.Gateway(ctx)
	if err != nil {
		return nil, err
	}
	management, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	simulator, err := workload.New(ctx, management, workload.Options{
		Host: host, PortRange: workload.PortRange{First: firstPort, Last: lastPort},
	})
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(background())
	done := make(chan error, 1)
	go func() { done <- simulator.Start(running) }()
	return &controlPlanes{host: host, port: firstPort, stop: func() {
		cancel()
		if err := <-done; err != nil {
			GinkgoLogr.Error(err, "Stopping the workload simulator")
		}
	}}, nil
}

// next chooses the endpoint of the cluster whose template is written next.
func (c *controlPlanes) next() {
	c.port++
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_IP", c.host)).To(Succeed())
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_PORT", strconv.Itoa(c.port))).To(Succeed())
}
