// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// subnetVariable sets a subnet other than the /16.
const subnetVariable = "FAULTLINE_IPAM_SUBNET"

// BenchmarkWriteOfABlock measures the cost of writing an object as the allocator does, by its number of holders. The cost with one holder
// is the lower bound for this API server. Run it with -benchtime 2000x.
func BenchmarkWriteOfABlock(b *testing.B) {
	for _, holders := range []int{1, 8, 16, 32, 64, 128, 256} {
		b.Run(fmt.Sprintf("holders=%d", holders), func(b *testing.B) { writes(b, holders) })
	}
}

func writes(b *testing.B, holders int) {
	b.Helper()
	block := &lbv1.IPPoolBlock{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}, Pool: "bench", First: "10.99.0.0", Allocated: map[string]string{}}
	for i := range holders {
		block.Allocated[fmt.Sprintf("10.99.0.%d", i)] = holder(i)
	}
	var requests, bytes atomic.Int64
	c := meteredClient(b, &requests, &bytes)
	if err := c.Create(b.Context(), block); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Delete(context.WithoutCancel(b.Context()), block) }() // the API server ends with the tests
	written := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPoolBlock"},
		ObjectMeta: metav1.ObjectMeta{Name: block.Name, ResourceVersion: block.ResourceVersion},
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		since := time.Now()
		body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"managedFields":[{}]},"allocated":{"10.99.0.0":%q}}`, written.ResourceVersion, holder(i))
		if err := c.Patch(b.Context(), written, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(since))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}

// metered counts the bytes of requests.
type metered struct {
	http.RoundTripper
	requests, bytes *atomic.Int64
}

func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests.Add(1)
	m.bytes.Add(max(0, r.ContentLength))
	return m.RoundTripper.RoundTrip(r)
}

// BenchmarkAllAddressesOfASubnet allocates and releases all addresses of a subnet, with one sequential client and with 16. Run it with
// -benchtime 1x.
func BenchmarkAllAddressesOfASubnet(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			for range b.N {
				allAddresses(b, clients)
			}
		})
	}
}

func allAddresses(b *testing.B, clients int) {
	b.Helper()
	subnet := os.Getenv(subnetVariable)
	if subnet == "" {
		subnet = fmt.Sprintf("10.%d.0.0/16", 100+clients)
	}
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: subnet}}}}
	if err := api.Create(b.Context(), pool); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = api.Delete(context.WithoutCancel(b.Context()), pool) }() // the API server ends with the tests
	var requests, bytes atomic.Int64
	c := meteredClient(b, &requests, &bytes)
	allocator := ipam.NewAllocator(c, c)
	total, err := allocation.NewPool(pool)
	if err != nil {
		b.Fatal(err)
	}
	count := int(total.Status().Total)

	allocate := timed(b, clients, count, func(id string) error {
		_, err := allocator.Claim(b.Context(), pool.Name, id)
		return err
	})
	if _, err := allocator.Claim(b.Context(), pool.Name, "default/one-more"); !errors.Is(err, allocation.ErrExhausted) {
		b.Fatalf("a full pool gives one more: %v", err)
	}
	largest, blocks := sizes(b, pool.Name)
	began := time.Now()
	if _, err := ipam.NewAllocator(c, c).Claim(b.Context(), pool.Name, holder(0)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "load-ms")
	b.ReportMetric(float64(blocks), "blocks")
	release := timed(b, clients, count, func(id string) error { return allocator.Release(b.Context(), pool.Name, id) })
	is, err := allocator.UpdateStatus(b.Context(), pool.Name, nil, func(allocation.Summary) (string, string) { return "", "" })
	if err != nil || is.Held != 0 {
		b.Fatalf("%d are held after all were released: %v", is.Held, err)
	}

	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(count), "addresses")
	for what, took := range map[string]times{"allocate": allocate, "release": release} {
		b.ReportMetric(took.all.Seconds(), what+"-s")
		b.ReportMetric(float64(count)/took.all.Seconds(), what+"/s")
		b.ReportMetric(float64(took.each[count/2].Microseconds())/1000, what+"-p50-ms")
		b.ReportMetric(float64(took.each[count*99/100].Microseconds())/1000, what+"-p99-ms")
	}
	b.ReportMetric(float64(bytes.Load())/(1<<20), "MiB-sent")
	b.ReportMetric(float64(bytes.Load())/float64(2*count), "bytes-sent/change")
	b.ReportMetric(float64(requests.Load())/float64(2*count), "requests/change")
	b.ReportMetric(float64(largest)/1024, "pool-KiB")
}

func meteredClient(b *testing.B, requests, bytes *atomic.Int64) client.Client {
	b.Helper()
	counted := rest.CopyConfig(config)
	counted.QPS = -1
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return metered{next, requests, bytes} })
	c, err := client.New(counted, client.Options{Scheme: api.Scheme(), Mapper: api.RESTMapper()})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

type times struct {
	all  time.Duration
	each []time.Duration // shortest first
}

// timed measures an operation for many ids.
func timed(b *testing.B, clients, count int, do func(id string) error) times {
	b.Helper()
	took := times{each: make([]time.Duration, count)}
	var wg sync.WaitGroup
	began := time.Now()
	for worker := range clients {
		wg.Go(func() {
			for i := worker; i < count; i += clients {
				since := time.Now()
				if err := do(holder(i)); err != nil {
					b.Error(err)
					return
				}
				took.each[i] = time.Since(since)
			}
		})
	}
	wg.Wait()
	took.all = time.Since(began)
	slices.Sort(took.each)
	return took
}

// holder returns a name in the format of the cloud provider.
func holder(i int) string { return fmt.Sprintf("default/kubernetes-default-service-%d-3be238b0", i) }

// sizes returns the size of the largest stored object of the pool, including managedFields, and its number of blocks. No object may
// exceed 1 MiB.
func sizes(b *testing.B, name string) (largest, blocks int) {
	b.Helper()
	pool := &lbv1.IPPool{}
	if err := api.Get(b.Context(), client.ObjectKey{Name: name}, pool); err != nil {
		b.Fatal(err)
	}
	list := &lbv1.IPPoolBlockList{}
	if err := api.List(b.Context(), list, allocation.BlocksOf(name)); err != nil {
		b.Fatal(err)
	}
	size := func(o any) int {
		data, err := json.Marshal(o)
		if err != nil {
			b.Fatal(err)
		}
		if len(data) > 1<<20 {
			b.Errorf("an object has %d bytes", len(data))
		}
		return len(data)
	}
	for i := range list.Items {
		size(list.Items[i])
	}
	return size(pool), len(list.Items)
}
