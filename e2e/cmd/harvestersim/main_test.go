// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/ports"
)

func TestKubeconfigAndLostHost(t *testing.T) {
	g := integration.NewGomega(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	reserved, err := ports.Reserve(1)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(reserved.Release)
	control := net.JoinHostPort(ports.Host, strconv.Itoa(reserved.First))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	said, stdout := io.Pipe()
	go func() {
		ended <- run(ctx, []string{
			"--kubeconfig=" + kubeconfig, "--control=" + control, "--zone-names=here,there", "--hosts-per-zone=1",
			"--pool=vips,10.0.0.0/24,10.0.0.10,10.0.0.20",
		}, stdout, io.Discard)
		_ = stdout.Close()
	}()
	variables := map[string]string{}
	for lines := bufio.NewScanner(said); variables["VM_SSH_USER"] == "" && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		variables[name] = value
	}
	written, err := os.ReadFile(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(base64.StdEncoding.DecodeString(variables["HARVESTER_KUBECONFIG_B64"])).To(Equal(written), "templates get the same")

	scheme := runtime.NewScheme()
	g.Expect(simulator.AddToScheme(scheme)).To(Succeed())
	config, err := clientcmd.RESTConfigFromKubeConfig(written)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())

	ready := func(host string) func() corev1.ConditionStatus {
		return func() corev1.ConditionStatus {
			node := &corev1.Node{}
			g.Expect(c.Get(ctx, client.ObjectKey{Name: host}, node)).To(Succeed())
			return node.Status.Conditions[0].Status
		}
	}
	fault := "http://" + control + "/faults/lost-hosts/there-host-1"
	g.Expect(ready("there-host-1")()).To(Equal(corev1.ConditionTrue))
	send(t, http.MethodPut, fault)
	g.Eventually(ready("there-host-1")).Should(Equal(corev1.ConditionUnknown))
	send(t, http.MethodDelete, fault)
	g.Eventually(ready("there-host-1")).Should(Equal(corev1.ConditionTrue))

	stop()
	g.Eventually(ended).Should(Receive(BeNil()))
}

// send sends a request and expects success without content.
func send(t *testing.T, method, url string) {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	g.Expect(response.StatusCode).To(Equal(http.StatusNoContent))
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	g := NewWithT(t)
	_, err := options{pool: "vips"}.settings()
	g.Expect(err).To(MatchError(ContainSubstring("NAME,SUBNET,FIRST,LAST")))
}
