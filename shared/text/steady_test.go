// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/text"
)

func TestSteady(t *testing.T) {
	t.Parallel()
	reset := func(own, peer string) error {
		from, _ := net.ResolveTCPAddr("tcp", own)
		to, _ := net.ResolveTCPAddr("tcp", peer)
		return &net.OpError{Op: "read", Net: "tcp", Source: from, Addr: to, Err: syscall.ECONNRESET}
	}
	refused := func(peer string) error {
		to, _ := net.ResolveTCPAddr("tcp", peer)
		return &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: syscall.ECONNREFUSED}
	}
	lookup := func(own string) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
			Err: "read udp " + own + "->10.0.0.2:53: i/o timeout", Name: "harvester", Server: "10.0.0.2:53", IsTimeout: true,
		}}
	}
	webhook := func(err error) error {
		return fmt.Errorf(`failed calling webhook "hosts.metal3.io": failed to call webhook: Post "https://hooks.baremetal.svc:443/validate?timeout=10s": %w`, err)
	}
	expired := func(now string) error {
		return x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time " + now + " is after 2026-11-01T00:00:00Z"}
	}
	goAway := func(stream int) error {
		return fmt.Errorf(`http2: server sent GOAWAY and closed the connection; LastStreamID=%d, ErrCode=NO_ERROR, debug=""`, stream)
	}
	stream := func(id int) error {
		return fmt.Errorf("stream error: stream ID %d; INTERNAL_ERROR; received from peer", id)
	}
	repeated := func(err error) error {
		return fmt.Errorf(`Get "https://harvester/version": %w - error from a previous attempt: %w`, err, reset("10.0.0.5:43210", "10.0.0.9:443"))
	}
	for name, tc := range map[string]struct {
		first, second error
		text          string
	}{
		"reset":                       {reset("10.0.0.5:43210", "10.0.0.9:443"), reset("10.0.0.5:51234", "10.0.0.9:443"), "read tcp: connection reset by peer"},
		"reset over IPv6":             {reset("[fd00::5]:43210", "[fd00::9]:443"), reset("[fd00::5]:51234", "[fd00::9]:443"), "read tcp: connection reset by peer"},
		"a repetition":                {repeated(context.DeadlineExceeded), repeated(reset("10.0.0.5:51234", "10.0.0.9:443")), `Get "https://harvester/version": read tcp: connection reset by peer`},
		"refused by several":          {refused("10.0.0.9:443"), refused("10.0.0.10:443"), "dial tcp: connection refused"},
		"a resolver that is silent":   {lookup("10.0.0.5:51234"), lookup("10.0.0.5:43210"), "dial tcp: lookup harvester on 10.0.0.2:53: read udp: i/o timeout"},
		"a webhook that is reset":     {webhook(reset("10.1.0.5:43210", "10.96.0.9:443")), webhook(reset("10.1.0.5:51234", "10.96.0.9:443")), webhook(errors.New("read tcp: connection reset by peer")).Error()},
		"a certificate that is old":   {expired("2026-11-26T14:02:40Z"), expired(time.Now().Format(time.RFC3339)), "x509: certificate has expired or is not yet valid: now is after 2026-11-01T00:00:00Z"},
		"a server that is restarted":  {goAway(1999), goAway(7), `http2: server sent GOAWAY and closed the connection, ErrCode=NO_ERROR, debug=""`},
		"a stream that a proxy ended": {stream(5), stream(77), "stream error: INTERNAL_ERROR; received from peer"},
		"something else":              {errors.New("no such host 10.0.0.9:443"), errors.New("no such host 10.0.0.9:443"), "no such host 10.0.0.9:443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(text.SteadyError(tc.first)).To(MatchError(tc.text))
			g.Expect(text.SteadyError(tc.second)).To(MatchError(tc.text))
			g.Expect(errors.Is(text.SteadyError(tc.first), tc.first)).To(BeTrue(), "the cause can still be asked for")
		})
	}
	g := NewWithT(t)
	g.Expect(text.SteadyError(nil)).To(Succeed())
	g.Expect(errors.Is(text.SteadyError(refused("10.0.0.9:443")), syscall.ECONNREFUSED)).To(BeTrue())
}
