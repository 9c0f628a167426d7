// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/cert"
)

// certificateExpiry exports when the certificate of the webhooks expires. It reads the file at each scrape, as the webhook server does
// after each change. Without a readable certificate it exports nothing.
type certificateExpiry struct {
	file string
	desc *prometheus.Desc
}

// registerCertificate registers the metric of the certificate of the webhooks. Registering it again has no effect.
func (o *Options) registerCertificate(registry prometheus.Registerer) error {
	err := registry.Register(certificateExpiry{
		file: filepath.Join(o.webhookCertDir, o.webhookCert),
		desc: prometheus.NewDesc("faultline_webhook_certificate_expiration_timestamp_seconds",
			"Time at which the certificate of the webhook server expires, in seconds since 1970.", nil, nil),
	})
	if registered := (prometheus.AlreadyRegisteredError{}); err != nil && !errors.As(err, &registered) {
		return fmt.Errorf("registering the metric of the webhook certificate: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c certificateExpiry) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c certificateExpiry) Collect(metrics chan<- prometheus.Metric) {
	chain, err := cert.CertsFromFile(c.file)
	if err != nil {
		return
	}
	metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(chain[0].NotAfter.Unix()))
}
