// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	certutil "k8s.io/client-go/util/cert"

	"github.com/faultline-io/faultline/shared/ports"
)

const (
	headerTimeout = 10 * time.Second
	localhost     = "localhost"
)

// User is the owner of a token.
type User struct {
	Name   string
	Groups []string
}

// Proxy is a proxy in front of an API server.
type Proxy struct {
	Faults
	Log

	upstream         *url.URL
	trusted, unknown http.RoundTripper
	certificate      tls.Certificate
	authority        []byte
	listen           string
	server           string
	port             *ports.Range

	mu      sync.Mutex
	users   map[string]User
	serving *http.Server
}

// Address is the address of a proxy.
type Address struct {
	// Listen is the address to listen on; "" means a reserved port of the local host.
	Listen string
	// Host is the host name that clients use, with the port of Listen.
	Host string
}

// NewProxy returns a proxy for the API server for which config has administrator credentials. It serves after Up is called.
func NewProxy(config *rest.Config, at Address) (*Proxy, error) {
	p := &Proxy{users: map[string]User{}}
	if err := p.settle(at); err != nil {
		return nil, err
	}
	var err error
	host, _, _ := net.SplitHostPort(p.server) // It was joined above.
	if p.upstream, err = url.Parse(config.Host); err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	if p.trusted, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("connecting as administrator: %w", err)
	}
	if p.unknown, err = rest.TransportFor(rest.AnonymousClientConfig(config)); err != nil {
		return nil, fmt.Errorf("connecting without a user: %w", err)
	}
	var key []byte
	if p.authority, key, err = certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(ports.Host)}, []string{localhost}); err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	if p.certificate, err = tls.X509KeyPair(p.authority, key); err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return p, nil
}

// settle determines the addresses to listen on and to be reached at.
func (p *Proxy) settle(at Address) error {
	if at.Listen != "" {
		_, port, err := net.SplitHostPort(at.Listen)
		if err != nil {
			return fmt.Errorf("reading the address of the front: %w", err)
		}
		p.listen, p.server, p.port = at.Listen, net.JoinHostPort(cmp.Or(at.Host, ports.Host), port), &ports.Range{}
		return nil
	}
	var err error
	if p.port, err = ports.Reserve(1); err != nil {
		return err
	}
	p.listen = net.JoinHostPort(ports.Host, strconv.Itoa(p.port.First))
	p.server = p.listen
	return nil
}

// URL returns the URL of the proxy.
func (p *Proxy) URL() string { return "https://" + p.server }

// Authority returns the CA certificate of the proxy in PEM.
func (p *Proxy) Authority() []byte { return p.authority }

// Certificate returns the server certificate of the proxy, for other servers on its host.
func (p *Proxy) Certificate() tls.Certificate { return p.certificate }

// Up starts to serve.
func (p *Proxy) Up(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return fmt.Errorf("serving the front: %w", err)
	}
	server := &http.Server{
		Handler: p.handler(), ReadHeaderTimeout: headerTimeout, ErrorLog: discard(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{p.certificate}, MinVersion: tls.VersionTLS12},
	}
	p.serving = server
	go func() { _ = server.ServeTLS(listener, "", "") }() // It ends when Down is called.
	return nil
}

// Down closes all connections and rejects new ones.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving != nil {
		_ = p.serving.Close()
		p.serving = nil
	}
}

// Close stops the proxy and releases its port.
func (p *Proxy) Close() error {
	p.Down()
	p.Silence(false)
	p.port.Release()
	return nil
}

// Admit authenticates a user by a token.
func (p *Proxy) Admit(token string, user User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[token] = user
}

// Revoke invalidates a token.
func (p *Proxy) Revoke(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.users, token)
}

// user returns the user of a request. Other clients may use a token of the API server itself, or none.
func (p *Proxy) user(r *http.Request) (User, bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	defer p.mu.Unlock()
	user, ok := p.users[token]
	return user, ok
}

// handler forwards requests. It reads a request's body first: if the API server refuses the request earlier, the client stops sending the
// body, and ReverseProxy would wait for the rest.
func (p *Proxy) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, FlushInterval: -1, ErrorLog: discard(),
		ModifyResponse: p.answered,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := parse(r)
		p.note(asked, time.Now())
		if p.obstruct(w, r, asked) {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, asked)))
	})
}

// requestKey is the context key of the parsed Request.
type requestKey struct{}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	user, known := p.user(r.In)
	if !known {
		return
	}
	r.Out.Header.Del("Authorization")
	for header := range r.Out.Header {
		if strings.HasPrefix(header, "Impersonate-") {
			r.Out.Header.Del(header)
		}
	}
	r.Out.Header.Set(transport.ImpersonateUserHeader, user.Name)
	for _, group := range user.Groups {
		r.Out.Header.Add(transport.ImpersonateGroupHeader, group)
	}
}

// RoundTrip forwards a request to the API server: as administrator that impersonates the user, if the user was admitted.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get(transport.ImpersonateUserHeader) != "" && r.Header.Get("Authorization") == "" {
		return p.trusted.RoundTrip(r)
	}
	return p.unknown.RoundTrip(r)
}

var errLost = errors.New("the answer is lost")

// answered may hold back a response of the API server.
func (p *Proxy) answered(response *http.Response) error {
	asked, _ := response.Request.Context().Value(requestKey{}).(Request)
	if asked.Verb == "watch" {
		w := &watch{
			log: &p.Log, body: response.Body, silence: p.silence, stuck: p.sticking(), lag: p.lagging, ended: response.Request.Context().Done(), cut: p.cutting(),
			expired: p.expiring(),
		}
		p.opened(w, asked)
		response.Body = w
		return nil
	}
	if !asked.writes() {
		return nil
	}
	switch lost, timedOut := p.fates(); {
	case lost:
		return errLost
	case timedOut:
		timeOut(response)
	}
	return nil
}
