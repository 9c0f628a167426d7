// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/faultline-io/faultline/shared/ports"
)

// served starts the webhook and diagnostics servers as a manager with these flags does, and returns their addresses.
func served(t *testing.T, args ...string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	reserved, err := ports.Reserve(2)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(reserved.Release)
	hooks, diagnostics := reserved.First, ports.Host+":"+strconv.Itoa(reserved.First+1)
	certificate, key, err := cert.GenerateSelfSignedCertKey(ports.Host, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)).To(Succeed())

	opts, fs := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.AddFlags(fs)
	g.Expect(fs.Parse(append(args, "--webhook-port="+strconv.Itoa(hooks), "--webhook-cert-dir="+folder, "--diagnostics-address="+diagnostics))).To(Succeed())
	webhookOptions, metricsOptions, err := opts.servers()
	g.Expect(err).NotTo(HaveOccurred())
	webhookOptions.Host = ports.Host
	metricsServer, err := metricsserver.NewServer(*metricsOptions, &rest.Config{Host: "https://" + ports.Host}, http.DefaultClient)
	g.Expect(err).NotTo(HaveOccurred())

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- webhook.NewServer(webhookOptions).Start(ctx) }()
	go func() { ended <- metricsServer.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			NewWithT(t).Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()))
		}
	})
	return map[string]string{"webhooks": ports.Host + ":" + strconv.Itoa(hooks), "diagnostics": diagnostics}
}

// negotiated returns the protocol that a client and a server negotiate.
func negotiated(t *testing.T, address string, offered ...string) (string, error) {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: offered}}
	var connection io.Closer
	var err error
	NewWithT(t).Eventually(func(g Gomega) {
		if connection, err = dialer.DialContext(t.Context(), "tcp", address); err != nil {
			g.Expect(err.Error()).NotTo(ContainSubstring("connection refused"), "the server does not listen yet")
		}
	}).WithTimeout(time.Minute).Should(Succeed())
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().NegotiatedProtocol, nil
}

func TestHTTP2(t *testing.T) {
	g := NewWithT(t)
	for server, address := range served(t) {
		_, err := negotiated(t, address, "h2")
		g.Expect(err).To(MatchError(ContainSubstring("no application protocol")), server)
		g.Expect(negotiated(t, address, "h2", "http/1.1")).To(Equal("http/1.1"), server)
	}
	for server, address := range served(t, "--enable-http2") {
		g.Expect(negotiated(t, address, "h2")).To(Equal("h2"), server)
	}
}
