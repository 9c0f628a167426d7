// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// TestUnboundedResponseIsAborted puts a proxy in front of the vCenter that sends endless responses to
// requests whose path has a given prefix.
func TestUnboundedResponseIsAborted(t *testing.T) {
	t.Parallel()
	const (
		most     = 1 << 20
		soapBody = `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`
	)
	for name, tc := range map[string]struct {
		path, begin string
		ask         func(context.Context, *vcenter.Session) error
	}{
		"SOAP": {path: "/sdk", begin: soapBody + `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><rootFolder type="Folder">`},
		"REST": {path: "/rest/com/vmware/cis/tagging", begin: `{"value": ["`, ask: func(ctx context.Context, s *vcenter.Session) error {
			return s.AttachTags(ctx, "VirtualMachine:vm-1", []string{"urn:1"})
		}},
		"policies": {path: "/pbm", begin: soapBody + `<PbmRetrieveServiceContentResponse xmlns="urn:pbm"><returnval><profileManager type="X">`, ask: func(ctx context.Context, s *vcenter.Session) error {
			_, err := s.Policy(ctx, "storagePolicyName", "any")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.SetDefaultEventuallyTimeout(timeout)
			vc := simulator.Start(t, simulator.ThreeZones())
			var sent atomic.Int64
			next := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: vc.Host()})
			next.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, tc.path) {
					next.ServeHTTP(w, r)
					return
				}
				content := []byte(tc.begin)
				for n, err := w.Write(content); err == nil && sent.Load() < 50*most; n, err = w.Write(content) {
					sent.Add(int64(n))
					content = []byte(strings.Repeat("x", 1<<16))
				}
			}))
			t.Cleanup(front.Close)
			pool := vcenter.NewPool(vcenter.Options{MaxAnswer: most, SkipVerify: true})
			t.Cleanup(func() { g.Expect(pool.Close(context.Background())).To(Succeed()) })
			ep := vcenter.Endpoint{Server: strings.TrimPrefix(front.URL, "https://"), Username: vc.Username(), Password: vc.Password()}
			g.Eventually(func() error {
				session, err := pool.Session(ep)
				if err != nil || tc.ask == nil {
					return err
				}
				return tc.ask(t.Context(), session)
			}).Should(MatchError(ContainSubstring("the response is too long: the manager reads at most 1048576 bytes")))
			g.Expect(sent.Load()).To(BeNumerically("<", 50*most), "the manager has closed the connection")
		})
	}
}
