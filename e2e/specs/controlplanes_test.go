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

// Ports of the control-plane endpoints of clusters that are kept in memory: each process that runs specs has its share.
const (
	firstPort       = 21000
	lastPort        = 21999
	portsPerProcess = 100
)

var (
	// controlPlanes keeps clusters in memory, in the process that began it.
	controlPlanes *workload.Simulator
	// stopControlPlanes ends what startControlPlanes began.
	stopControlPlanes func()
)

// startControlPlanes keeps the API servers of all clusters in this process, listening where the pods of the kind cluster
// reach them.
func startControlPlanes(ctx context.Context) {
	host, err := gatewayOf(ctx, environment)
	Expect(err).NotTo(HaveOccurred())
	controlPlanes, stopControlPlanes = simulate(ctx, environment.Kubeconfig(), workload.Options{
		Host: host, PortRange: workload.PortRange{First: firstPort, Last: lastPort},
	})
}

// simulate keeps the clusters of a management cluster in memory until it is stopped.
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

// controlPlaneEndpoints gives each cluster of this process an endpoint of its own.
type controlPlaneEndpoints struct {
	host string
	port int
}

func newEndpoints(host string) *controlPlaneEndpoints {
	return &controlPlaneEndpoints{host: host, port: firstPort + (GinkgoParallelProcess()-1)*portsPerProcess}
}

// next chooses the endpoint of the cluster whose template is written next.
func (e *controlPlaneEndpoints) next() {
	e.port++
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_IP", e.host)).To(Succeed())
	Expect(os.Setenv("CONTROL_PLANE_ENDPOINT_PORT", strconv.Itoa(e.port))).To(Succeed())
}
