// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// etcdPodPrefix is the name prefix of every etcd pod; clients of etcd send the name of the pod in the TLS handshake.
const etcdPodPrefix = "etcd-"

// frontend serves a cluster's endpoint: one listener for the API server and each etcd member, which are distinguished by the name in the
// TLS handshake.
//
// While it is closed, it keeps its port and closes every connection, like a load balancer without a backend. Clients fail immediately,
// and no other program can take the port.
type frontend struct {
	net.Listener
	server *http.Server
	log    logr.Logger

	mu          sync.Mutex
	open        bool
	connections map[net.Conn]struct{}
	apiServer   *tls.Certificate
	// etcd maps each etcd pod that is up to its certificate.
	etcd map[string]*tls.Certificate
}

func listenOn(host string, port int) (net.Listener, error) {
	address, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp", address)
}

// newFrontend serves handler on listener. The endpoint is closed at first.
func newFrontend(listener net.Listener, handler http.Handler, logger logr.Logger) *frontend {
	f := &frontend{
		Listener:    listener,
		log:         logger,
		connections: map[net.Conn]struct{}{},
		etcd:        map[string]*tls.Certificate{},
	}
	f.server = &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.certificate},
		ReadHeaderTimeout: 10 * time.Second,
		// Clients report failed handshakes.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go f.serve()
	return f
}

func (f *frontend) serve() {
	err := f.server.ServeTLS(f, "", "")
	if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		f.log.Error(err, "The endpoint stopped accepting connections", "address", f.Addr().String())
	}
}

// Accept returns the next connection. It closes connections that arrive while the endpoint is closed.
func (f *frontend) Accept() (net.Conn, error) {
	for {
		inner, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		connection := &connection{Conn: inner, frontend: f}
		if f.admit(connection) {
			return connection, nil
		}
		_ = inner.Close() // The client notices only that it is closed.
	}
}

func (f *frontend) admit(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open {
		f.connections[c] = struct{}{}
	}
	return f.open
}

func (f *frontend) isOpen() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// setOpen opens or closes the endpoint. Closing it closes all connections, including forwarded ports.
func (f *frontend) setOpen(open bool) {
	f.mu.Lock()
	f.open = open
	var cut []net.Conn
	if !open {
		cut = slices.Collect(maps.Keys(f.connections))
	}
	f.mu.Unlock()
	for _, c := range cut {
		_ = c.Close() // The client may have closed it.
	}
}

// close releases the port.
func (f *frontend) close() {
	f.setOpen(false)
	if err := errors.Join(f.server.Close(), f.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
		f.log.Error(err, "The endpoint did not close", "address", f.Addr().String())
	}
}

func (f *frontend) setAPIServer(certificate *tls.Certificate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apiServer = certificate
}

// setEtcd starts an etcd pod with a certificate, or stops it if certificate is nil.
func (f *frontend) setEtcd(pod string, certificate *tls.Certificate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if certificate == nil {
		delete(f.etcd, pod)
		return
	}
	f.etcd[pod] = certificate
}

func (f *frontend) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(hello.ServerName, etcdPodPrefix) {
		return f.apiServer, nil
	}
	certificate, ok := f.etcd[hello.ServerName]
	if !ok {
		return nil, fmt.Errorf("pod %s does not respond", hello.ServerName)
	}
	return certificate, nil
}

// connection is a client's connection that the frontend can close.
type connection struct {
	net.Conn
	frontend *frontend
}

// Close closes the connection and unregisters it.
func (c *connection) Close() error {
	c.frontend.mu.Lock()
	delete(c.frontend.connections, c)
	c.frontend.mu.Unlock()
	return c.Conn.Close()
}
