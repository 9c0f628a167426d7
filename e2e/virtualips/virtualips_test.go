// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package virtualips

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// record puts a program ip into the PATH that only records its arguments, and returns how to read them.
func record(t *testing.T) func() (string, error) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	calls := filepath.Join(folder, "calls")
	NewWithT(t).Expect(os.WriteFile(filepath.Join(folder, "ip"), []byte("#!/bin/sh\necho \"$@\" >>"+calls+"\n"), 0o700)).To(Succeed())
	return func() (string, error) {
		content, err := os.ReadFile(calls)
		return string(content), err
	}
}

// backend sends its name to every client that connects.
func backend(t *testing.T, address, name string) (port int32) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address+":0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(connection, name)
			_ = connection.Close()
		}
	}()
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

func freePort(t *testing.T, address string) int32 {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address+":0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

func TestLoadBalancerForwardsToEndpointsUntilServiceIsDeleted(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	const address = "127.0.0.1"
	meta := metav1.ObjectMeta{Namespace: "default", Name: "lb"}
	service := &corev1.Service{ObjectMeta: meta}
	service.Spec.Type, service.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Name: "api", Port: freePort(t, address)}}
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: "lb"}
	endpoints := &discoveryv1.EndpointSlice{ObjectMeta: meta, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("api"), Port: ptr.To(backend(t, address, "one"))}}}
	endpoints.Endpoints = []discoveryv1.Endpoint{
		{Addresses: []string{address}}, {Addresses: []string{"127.0.0.2"}}, // where nothing listens
		{Addresses: []string{"127.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
	}
	harvester := fake.NewClientBuilder().WithObjects(service, endpoints).WithStatusSubresource(service).Build()
	calls := record(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		NewAnnouncer(harvester, Card{Name: "eth1"}).Run(ctx)
		close(ended)
	}()

	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	g.Expect(harvester.Status().Update(ctx, service)).To(Succeed())
	ask := func() (string, error) {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", address, service.Spec.Ports[0].Port))
		if err != nil {
			return "", err
		}
		defer func() { _ = connection.Close() }()
		return bufio.NewReader(connection).ReadString('\n')
	}
	g.Eventually(ask).Should(Equal("one\n"))
	for range 10 { // whichever is tried first
		g.Expect(ask()).To(Equal("one\n"))
	}
	g.Expect(calls()).To(Equal("address replace 127.0.0.1/32 dev eth1\n"))

	g.Expect(harvester.Delete(ctx, service)).To(Succeed())
	g.Eventually(calls).Should(Equal("address replace 127.0.0.1/32 dev eth1\naddress delete 127.0.0.1/32 dev eth1\n"))
	_, err := ask()
	g.Expect(err).To(HaveOccurred())
	cancel()
	g.Eventually(ended).Should(BeClosed())
}

func TestOnlyServicesWithAddressAreAnnounced(t *testing.T) {
	t.Parallel()
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lb"}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 6443}, {Port: 53, Protocol: corev1.ProtocolUDP}}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}, {Hostname: "lb.example.com"}}
	g := NewWithT(t)
	g.Expect(frontendsOf([]corev1.Service{service})).To(BeEmpty())
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	g.Expect(frontendsOf([]corev1.Service{service})).To(Equal(map[frontend]bool{
		{netip.MustParseAddr("10.0.0.1"), 6443, client.ObjectKeyFromObject(&service)}: true,
	}))
}
