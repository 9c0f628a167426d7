// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

func TestASecondSubnetIsAddedToWhatGivesPodsANetwork(t *testing.T) {
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
	g.Expect(err).To(MatchError("there is no plugin"))
}
