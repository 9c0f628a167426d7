// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/faultline-io/faultline/shared/ports"
)

// standing returns a proxy in front of an API server that responds with the user headers it received.
func standing(t *testing.T, at Address) (*Proxy, *http.Client) {
	t.Helper()
	return inFront(t, at, func(w http.ResponseWriter, r *http.Request) {
		for _, header := range []string{"Authorization", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"} {
			w.Header()["Told-"+header] = r.Header.Values(header)
		}
	})
}

// inFront returns a proxy in front of an API server, and a client of the proxy.
func inFront(t *testing.T, at Address, answer http.HandlerFunc) (*Proxy, *http.Client) {
	t.Helper()
	g := NewWithT(t)
	api := httptest.NewUnstartedServer(answer)
	api.EnableHTTP2 = true
	api.StartTLS()
	t.Cleanup(api.Close)
	p, err := NewProxy(&rest.Config{Host: api.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, at)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Up(t.Context())).To(Succeed())
	t.Cleanup(func() { g.Expect(p.Close()).To(Succeed()) })
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(p.Authority())).To(BeTrue())
	return p, &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// receivedHeaders sends a request with a token and with impersonation headers, and returns the headers that the API server received.
func receivedHeaders(t *testing.T, client *http.Client, url, token string) http.Header {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/nodes", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Impersonate-Uid", "somebody")
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	return response.Header
}

func TestUserAuthentication(t *testing.T) {
	g := NewWithT(t)
	p, client := standing(t, Address{})
	p.Admit("secret", User{Name: "jane", Groups: []string{"one", "two"}})
	header := receivedHeaders(t, client, p.URL(), "secret")
	g.Expect(header["Told-Impersonate-User"]).To(Equal([]string{"jane"}))
	g.Expect(header["Told-Impersonate-Group"]).To(Equal([]string{"one", "two"}))
	g.Expect(header["Told-Impersonate-Uid"]).To(BeEmpty())
	g.Expect(header["Told-Authorization"]).To(BeEmpty())

	p.Revoke("secret")
	header = receivedHeaders(t, client, p.URL(), "secret")
	g.Expect(header["Told-Impersonate-User"]).To(BeEmpty())
	g.Expect(header["Told-Authorization"]).To(Equal([]string{"Bearer secret"}), "the API server may know it")
}

func TestProxyAddress(t *testing.T) {
	g := NewWithT(t)
	free, err := ports.Reserve(1)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(free.Release)
	port := strconv.Itoa(free.First)
	p, client := standing(t, Address{Listen: net.JoinHostPort(ports.Host, port), Host: "harvester.example.com"})
	g.Expect(p.URL()).To(Equal("https://harvester.example.com:" + port))
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig.ServerName = "harvester.example.com"
	receivedHeaders(t, client, "https://"+net.JoinHostPort(ports.Host, port), "")

	_, err = NewProxy(&rest.Config{Host: "https://127.0.0.1:1"}, Address{Listen: "nowhere"})
	g.Expect(err).To(MatchError(ContainSubstring("address of the front")))
}

// An HTTP/2 client stops sending the body of a request when it receives an error. The API server may respond with one before the body.
func TestResponseBeforeBodyOfRequest(t *testing.T) {
	g := NewWithT(t)
	p, client := inFront(t, Address{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "refused", http.StatusForbidden) })
	body, send := io.Pipe()
	time.AfterFunc(100*time.Millisecond, func() {
		_, _ = io.WriteString(send, "{}")
		_ = send.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.URL()+"/api/v1/nodes/a", body)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.StatusCode).To(Equal(http.StatusForbidden))
	_, err = io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
}
