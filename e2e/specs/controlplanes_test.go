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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/faultline-io/faultline/e2e/workload"
)

// Ports of the control-plane endpoints of in-memory clusters: each process that runs specs has its share.
const (
	firstPort       = 21000
	lastPort        = 21999
	portsPerProcess = 100
)

var (
	// controlPlanes simulates the clusters of this process in memory.
	controlPlanes *workload.Simulator
	// stopControlPlanes stops what startControlPlanes started.
	stopControlPlanes func()
)

// startControlPlanes serves the API servers of all clusters in this process, at an address that the pods of the kind cluster reach.
func startControlPlanes(ctx context.Context) {
	host, err := gatewayOf(ctx, environment)
	Expect(err).NotTo(HaveOccurred())
	controlPlanes, stopControlPlanes = simulate(ctx, environment.Kubeconfig(), workload.Options{
		Host: host, PortRange: workload.PortRange{First: firstPort, Last: lastPort},
	})
}

// simulate simulates the clusters of a management cluster in memory until stop is called.
func simulate(ctx context.Context, kubeconfig string, options workload.Options) (simulator *workload.Simulator, stop func()) {
	management, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	simulator, err = workload.New(ctx, management, options)
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(background())
	if boots, ok := infra.observer.(interface {
		connect(context.Context, *rest.Config, *workload.Simulator) error
	}); ok {
		Expect(boots.connect(running, management, simulator)).To(Succeed())
	}
	done := make(chan error, 1)
	go func() { done <- simulator.Start(running) }()
	return simulator, func() {
		cancel()
		if err := <-done; err != nil {
			GinkgoLogr.Error(err, "Stopping the workload simulator")
		}
	}
}

// controlPlaneEndpoints gives each cluster of this process its own endpoint.
type controlPlaneEndpoints struct {
	host string
	port int
}

func newEndpoints(host string) *controlPlaneEndpoints {
	return &controlPlaneEndpoints{host: host, port: firstPort + (GinkgoParallelProcess()-1)*portsPerProcess}
}

// next sets the endpoint of the cluster whose template is rendered next.
func (e *controlPlaneEndpoints) next() {
	e.port++
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_IP", e.host)).To(Succeed())
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_PORT", strconv.Itoa(e.port))).To(Succeed())
}
