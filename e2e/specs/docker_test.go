// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// kindNetwork is the Docker network of kind's nodes.
const kindNetwork = "kind"

// dockerNetwork is the network of the node.
type dockerNetwork struct {
	// Card is this machine's card in the network, if Docker runs on this machine itself.
	Card    string
	Gateway netip.Addr
	Subnet  netip.Prefix
	// Subnet6 is the IPv6 subnet; the zero Prefix if the network has none.
	Subnet6 netip.Prefix
}

// parseNetwork parses the ID of a network and its subnets with their gateways. Docker may name no IPv6 gateway.
func parseNetwork(inspected string) (dockerNetwork, error) {
	id, ranges, _ := strings.Cut(inspected, " ")
	network := dockerNetwork{Card: "br-" + id}
	for _, one := range strings.Fields(ranges) {
		of, at, _ := strings.Cut(one, ",")
		subnet, err := netip.ParsePrefix(of)
		if err != nil {
			continue
		}
		gateway, noAddress := netip.ParseAddr(at)
		switch {
		case subnet.Addr().Is6():
			network.Subnet6 = subnet
		case noAddress == nil:
			network.Gateway, network.Subnet = gateway, subnet
		}
	}
	if !network.Gateway.IsValid() {
		return dockerNetwork{}, fmt.Errorf("network %s has no IPv4 gateway", kindNetwork)
	}
	return network, nil
}

// withSubnet returns a configuration of network plugins whose first plugin also assigns an address of an IPv6 subnet.
func withSubnet(conflist []byte, subnet netip.Prefix) ([]byte, error) {
	var all struct {
		CNIVersion string           `json:"cniVersion"`
		Name       string           `json:"name"`
		Plugins    []map[string]any `json:"plugins"`
	}
	if err := json.Unmarshal(conflist, &all); err != nil {
		return nil, err
	}
	if len(all.Plugins) == 0 {
		return nil, errors.New("no plugin found")
	}
	ipam, ok := all.Plugins[0]["ipam"].(map[string]any)
	if !ok {
		return nil, errors.New("the first plugin gives no addresses")
	}
	ranges, _ := ipam["ranges"].([]any)
	routes, _ := ipam["routes"].([]any)
	ipam["ranges"] = append(ranges, []any{map[string]any{"subnet": subnet}})
	ipam["routes"] = append(routes, map[string]any{"dst": "::/0"})
	return json.Marshal(all)
}

// setFault sets a fault in a simulator.
func setFault(ctx context.Context, url, fault string, present bool) error {
	method := http.MethodDelete
	if present {
		method = http.MethodPut
	}
	request, err := http.NewRequestWithContext(ctx, method, url+"/faults/"+fault, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("reaching the simulator: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	said, err := io.ReadAll(response.Body)
	return errors.Join(fmt.Errorf("setting fault %s: %s: %s", fault, response.Status, strings.TrimSpace(string(said))), err)
}

func TestDockerNetworkIPv4Gateway(t *testing.T) {
	t.Parallel()
	want := dockerNetwork{Card: "br-79939a4bf6c6", Gateway: netip.MustParseAddr("172.18.0.1"), Subnet: netip.MustParsePrefix("172.18.0.0/16")}
	six := netip.MustParsePrefix("fc00:f853:ccd:e793::/64")
	for name, test := range map[string]struct {
		inspected string
		six       netip.Prefix
	}{
		"IPv4 alone":             {"79939a4bf6c6 172.18.0.0/16,172.18.0.1 ", netip.Prefix{}},
		"IPv6 without a gateway": {"79939a4bf6c6 172.18.0.0/16,172.18.0.1 fc00:f853:ccd:e793::/64, ", six},
		"IPv6 before IPv4":       {"79939a4bf6c6 fc00:f853:ccd:e793::/64,fc00:f853:ccd:e793::1 172.18.0.0/16,172.18.0.1 ", six},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			network, err := parseNetwork(test.inspected)
			want := want
			want.Subnet6 = test.six
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(network).To(Equal(want))
		})
	}
	_, err := parseNetwork("79939a4bf6c6 fc00:f853:ccd:e793::/64, ")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("no IPv4 gateway")))
}

func TestWithSubnet(t *testing.T) {
	t.Parallel()
	g, six := NewWithT(t), netip.MustParsePrefix("fd00::/64")
	got, err := withSubnet([]byte(`{"cniVersion":"1.0.0","name":"ptp","plugins":[
		{"type":"ptp","ipMasq":true,"ipam":{"type":"host-local","routes":[{"dst":"0.0.0.0/0"}],"ranges":[[{"subnet":"10.245.7.0/24"}]]}},
		{"type":"portmap"}]}`), six)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(MatchJSON(`{"cniVersion":"1.0.0","name":"ptp","plugins":[
		{"type":"ptp","ipMasq":true,"ipam":{"type":"host-local","routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}],
			"ranges":[[{"subnet":"10.245.7.0/24"}],[{"subnet":"fd00::/64"}]]}},
		{"type":"portmap"}]}`))
	_, err = withSubnet([]byte(`{"plugins":[{"type":"portmap"}]}`), six)
	g.Expect(err).To(MatchError("the first plugin gives no addresses"))
	_, err = withSubnet([]byte(`{}`), six)
	g.Expect(err).To(MatchError("no plugin found"))
}

func TestSetFault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/faults/weather" {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	g.Expect(setFault(t.Context(), server.URL, "down", true)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "lost-datastores/dc-1/datastore-a", false)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "lost-hosts/zone-a", true)).To(Succeed())
	g.Expect(setFault(t.Context(), server.URL, "weather", true)).To(MatchError(ContainSubstring("no such thing")))
	g.Expect(got).To(Equal([]string{
		"PUT /faults/down", "DELETE /faults/lost-datastores/dc-1/datastore-a", "PUT /faults/lost-hosts/zone-a", "PUT /faults/weather",
	}))
}
