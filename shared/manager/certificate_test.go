// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/util/cert"
)

func TestExpirationOfRenewedCertificateIsExported(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "tls.crt")
	opts, fs := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.AddFlags(fs)
	g.Expect(fs.Parse([]string{"--webhook-cert-dir=" + folder})).To(Succeed())
	registry := prometheus.NewRegistry()
	g.Expect(opts.registerCertificate(registry)).To(Succeed())
	g.Expect(opts.registerCertificate(registry)).To(Succeed(), "registering it again has no effect")
	exported := func() []float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		var values []float64
		for _, family := range families {
			g.Expect(family.GetName()).To(Equal("faultline_webhook_certificate_expiration_timestamp_seconds"))
			values = append(values, family.GetMetric()[0].GetGauge().GetValue())
		}
		return values
	}
	g.Expect(exported()).To(BeEmpty(), "there is no certificate")
	for _, lifetime := range []time.Duration{time.Hour, 48 * time.Hour} {
		certificate, _, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: "localhost", MaxAge: lifetime})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(file, certificate, 0o600)).To(Succeed())
		parsed, err := cert.ParseCertsPEM(certificate)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(exported()).To(Equal([]float64{float64(parsed[0].NotAfter.Unix())}))
	}
	g.Expect(os.WriteFile(file, []byte("no certificate"), 0o600)).To(Succeed())
	g.Expect(exported()).To(BeEmpty())
}
