// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
)

// detained is a writer whose first write that adds to a block and contains the text stays in flight until it is released.
type detained struct {
	client.Writer
	text         string
	once         sync.Once
	reached, let chan struct{}
}

func newDetained(text string) *detained {
	return &detained{Writer: api, text: text, reached: make(chan struct{}), let: make(chan struct{})}
}

func (d *detained) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if o.GetObjectKind().GroupVersionKind().Kind == "IPPoolBlock" && strings.Contains(string(data), `"allocated"`) && strings.Contains(string(data), d.text) {
		d.once.Do(func() {
			close(d.reached)
			<-d.let
		})
	}
	return d.Writer.Patch(ctx, o, p, opts...)
}

func TestLateWriteOfFormerLeaderIsFenced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := largePool("10.54.0.0/21")
	g.Expect(api.Create(t.Context(), pool)).To(Succeed())
	t.Cleanup(func() { g.Expect(api.Delete(context.WithoutCancel(t.Context()), pool)).To(Succeed()) })
	_, err := ipam.NewAllocator(api, api).Claim(t.Context(), pool.Name, "default/first") // creates its block
	g.Expect(err).NotTo(HaveOccurred())

	writer := newDetained("")
	type answer struct {
		ipam.Claimed
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		claimed, err := ipam.NewAllocator(writer, api).Claim(t.Context(), pool.Name, "default/web")
		answers <- answer{claimed, err}
	}()
	<-writer.reached
	given := netip.MustParseAddr("10.54.7.101")
	g.Expect(ipam.NewAllocator(api, api).Give(t.Context(), pool.Name, "default/web", given)).To(Succeed())
	close(writer.let)
	late := <-answers
	g.Expect(late.err).NotTo(HaveOccurred())
	g.Expect(late.IP).To(Equal(given), "it looks again, and finds what the next one has given")
	stored := map[string]map[string]string{}
	for _, block := range blocks(t, pool.Name) {
		stored[block.Name] = block.Allocated
	}
	g.Expect(several(stored)).To(BeEmpty())
}
