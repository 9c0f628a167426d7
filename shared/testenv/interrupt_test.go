// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package testenv_test

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/testenv"
)

// interruptedVariable is set in the environment of a test program that is interrupted.
const interruptedVariable = "FAULTLINE_TEST_IS_INTERRUPTED"

func TestInterruptedTestsLeaveNoAPIServer(t *testing.T) {
	if os.Getenv(interruptedVariable) != "" {
		env := testenv.Start(t, testenv.Options{Scheme: clientgoscheme.Scheme})
		_, _ = fmt.Fprintln(os.Stdout, env.Config.Host, env.ControlPlane.Etcd.URL)
		select {}
	}
	g := integration.NewGomega(t)
	tests := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	tests.Env = append(os.Environ(), interruptedVariable+"=true")
	out, err := tests.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tests.Start()).To(Succeed())
	line, err := bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	for _, server := range strings.Fields(line) {
		g.Expect(reachable(server)).To(Succeed())
	}

	g.Expect(tests.Process.Signal(os.Interrupt)).To(Succeed())
	g.Expect(tests.Wait()).To(MatchError("exit status 1"))
	for _, server := range strings.Fields(line) {
		g.Eventually(func() error { return reachable(server) }).ShouldNot(Succeed(), server)
	}
}

// reachable connects to a server.
func reachable(server string) error {
	host := server
	if address, err := url.Parse(server); err == nil && address.Host != "" {
		host = address.Host
	}
	connection, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	return connection.Close()
}
