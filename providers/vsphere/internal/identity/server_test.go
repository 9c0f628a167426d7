// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func TestServerSpellings(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"vc":                          "vc",
		"VC":                          "vc",
		"vc:443":                      "vc",
		"vc:0443":                     "vc",
		"https://vc/sdk":              "vc",
		"https://vc/":                 "vc",
		"https://VC:443":              "vc",
		"HTTPS://vc":                  "vc",
		"vc:8443":                     "vc:8443",
		"vc_1.example.com":            "vc_1.example.com",
		"vc.example.com.":             "vc.example.com.",
		"10.0.0.1:443":                "10.0.0.1",
		"2001:DB8::1":                 "[2001:db8::1]",
		"2001:0db8:0:0::0001":         "[2001:db8::1]",
		"[2001:db8::1]:443":           "[2001:db8::1]",
		"[2001:db8::1]:8443":          "[2001:db8::1]:8443",
		"https://[2001:db8::1]/sdk":   "[2001:db8::1]",
		"https://2001:db8::1/sdk":     "[2001:db8::1]",
		"xn--bcher-kva.example.com:1": "xn--bcher-kva.example.com:1",
	} {
		g := NewWithT(t)
		g.Expect(infrav1.ServerAddress(server)).To(Equal(want), server)
		g.Expect(infrav1.SameServer(server, want)).To(BeTrue(), server)
		reachesWhatItNames(t, server)
	}
}

func TestInvalidServerEqualsNone(t *testing.T) {
	t.Parallel()
	for _, server := range []string{
		"", " ", "/", "https://", "https:///sdk", "/sdk", ".", ":443", "https://:443",
		"http://vc", "http://vc:8989", "https://http://vc", "https://https://vc", "https:https://vc", "ftp://vc", "//vc", "https:/vc", "https://\thttps://vc",
		"user@vc", "https://user:secret@vc", "vc@evil.example", "vc:443@evil.example", "vc#@evil.example", "vc?@evil.example", `vc\@evil.example`,
		"evil.example/vc.example", "https://vc/ui", "vc/sdk/sdk", "vc//", "vc/../evil", "https://vc/sdk?a=b", "https://vc#", "vc%2eexample",
		"vc:", "vc:0", "vc:65536", "vc:port", "vc:+443", "vc:4_4", "vc:443:443", "vc:443,evil.example", "vc evil.example", " vc", "vc ", "vc\n", "vc\x00",
		"[vc]", "[vc]:443", "[vc", "vc]", "[10.0.0.1]", "[[2001:db8::1]]", "[2001:db8::1", "2001:db8::1]", "[]", "[]:443", "2001:db8::1::",
		"fe80::1%eth0", "[fe80::1%eth0]", "[fe80::1%25eth0]:443", "::1%@evil.example",
		"\u212Aey", "v\u0441", "\uFF56\uFF43", "b\u00FCcher.example", "vc\u3002example", "10.0.0.1\u2024", "vc\uFEFF", "\xff",
		"vc..example.com", ".vc", "vc..", "-vc", "_vc", strings.Repeat("a", 254),
	} {
		g := NewWithT(t)
		g.Expect(infrav1.ServerAddress(server)).To(BeEmpty(), "%q", server)
		g.Expect(infrav1.SameServer(server, server)).To(BeFalse(), "%q", server)
		g.Expect(infrav1.SameServer(server, "")).To(BeFalse(), "%q", server)
		g.Expect(infrav1.SameServer("vc", server)).To(BeFalse(), "%q", server)
	}
}

// TestDifferentHostsAreDifferentServers tries some thousand spellings, and compares five of each server
// with each other.
func TestDifferentHostsAreDifferentServers(t *testing.T) {
	t.Parallel()
	some, times := map[string]string{}, map[string]int{}
	for _, before := range []string{"", "https://", "HTTPS://", "http://", "https://https://", "https://http://", "//", "user@", "https://user:vc@", "[", " "} {
		for _, host := range []string{
			"a", "A", "a.", "b", "a.b", "a_b", "a-b", "\u0430", "\u212A", "k", "a@b", "b@a", "a/b", "a#b", `a\b`, "10.0.0.1", "010.0.0.1", "::1", "[::1]", "[a]",
			"::ffff:10.0.0.1", "[::ffff:a00:1]", "::1%a", "",
		} {
			for _, port := range []string{"", ":", ":443", ":0443", ":8443", ":0", ":443:8443", "@b", "%2e"} {
				for _, after := range []string{"", "/", "/sdk", "/sdk/", "//", "/b", "?b", "#b", "]", "/sdk/sdk", "@b/sdk"} {
					server := before + host + port + after
					reachesWhatItNames(t, server)
					if infrav1.ServerAddress(server) != "" && times[reached(t, server)] < 5 {
						times[reached(t, server)]++
						some[server] = reached(t, server)
					}
				}
			}
		}
	}
	for a, of := range some {
		for b, is := range some {
			if infrav1.SameServer(a, b) != (of == is) {
				t.Errorf("%q and %q reach %s and %s, and are the same server: %t", a, b, of, is, of != is)
			}
		}
	}
}

// FuzzServer compares servers from user input.
func FuzzServer(f *testing.F) {
	f.Add("vc", "https://VC:443/sdk")
	f.Add("https://http://vc", "http://vc")
	f.Add("[2001:db8::1]:443", "2001:DB8::1")
	f.Add("vc:443@evil.example", "user:secret@vc")
	f.Add("\u212Aey.", "key%eth0")
	f.Fuzz(func(t *testing.T, a, b string) {
		reachesWhatItNames(t, a)
		if infrav1.SameServer(a, b) != infrav1.SameServer(b, a) {
			t.Fatalf("%q is the same server as %q, but not the other way round", a, b)
		}
		if infrav1.SameServer(a, b) && reached(t, a) != reached(t, b) {
			t.Fatalf("%q and %q are the same server, but reach %s and %s", a, b, reached(t, a), reached(t, b))
		}
	})
}

// reachesWhatItNames verifies that the canonical form of a server is stable and reaches the same host as the original.
func reachesWhatItNames(t *testing.T, server string) {
	t.Helper()
	address := infrav1.ServerAddress(server)
	if address == "" {
		if infrav1.SameServer(server, server) {
			t.Fatalf("%q is not a server, but equals itself", server)
		}
		return
	}
	if again := infrav1.ServerAddress(address); again != address {
		t.Fatalf("%q is %q, and that is %q", server, address, again)
	}
	if is, would := reached(t, address), reached(t, server); is != would {
		t.Fatalf("%q is %q, which leads to %s, not to %s", server, address, is, would)
	}
}

// reached returns the host and port to which govmomi connects.
func reached(t *testing.T, server string) string {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(server), "https://"), "/"), "/sdk")
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		server = "[" + host + "]" // added by the client
	}
	u, err := soap.ParseURL(server)
	if err != nil {
		t.Fatalf("%q is a server, but no client can read it: %v", server, err)
	}
	if password, _ := u.User.Password(); u.Scheme != "https" || u.User.Username()+password != "" || u.RawQuery+u.Fragment != "" {
		t.Fatalf("%q is a server, but is read as %s", server, u)
	}
	host = strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	port := 443
	if text := u.Port(); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &port); err != nil {
			t.Fatalf("%q is a server, but its port is %q", server, text)
		}
	}
	return fmt.Sprint(host, " ", port)
}
