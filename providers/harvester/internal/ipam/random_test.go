// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package ipam_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// Parameters of a run. The variables are for longer runs and for repeating one. The interleaving of concurrent operations is not
// reproducible.
const (
	seedVariable   = "FAULTLINE_IPAM_SEED"
	roundsVariable = "FAULTLINE_IPAM_ROUNDS"
	rounds         = 12
	workers        = 8
)

// simulation is one run: managers that allocate addresses of a pool, and their clients.
type simulation struct {
	t        *testing.T
	seed     uint64
	pool     string
	managers []*manager
	// stage is held shared by callers of a manager, and exclusively by one that ends.
	stage sync.RWMutex

	now     atomic.Int64
	mu      sync.Mutex
	history []porcupine.Operation
	// lives has the addresses that each id has claimed since its last release.
	lives map[string][]netip.Addr
	// several has the ids that had two addresses at once.
	several map[string]string
	// existing are existing load balancers, which must keep the addresses that they show despite edits.
	existing map[string]*lbv1.LoadBalancer
}

func (p *simulation) random(of uint64) *rand.Rand { return rand.New(rand.NewPCG(p.seed, of)) }

// record records operations since the moment.
func (p *simulation) record(since int64, acts ...operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range acts {
		p.history = append(p.history, porcupine.Operation{ClientId: 0, Input: a, Call: since, Return: p.now.Add(1)})
		if !a.claims {
			delete(p.lives, a.id)
		} else if !slices.Contains(p.lives[a.id], a.ip) {
			p.lives[a.id] = append(p.lives[a.id], a.ip)
		}
	}
}

// retry calls managers, in random order, until one succeeds.
func (p *simulation) retry(random *rand.Rand, do func(context.Context, *ipam.Allocator) error) error {
	var err error
	for range 200 {
		p.stage.RLock()
		m := p.managers[random.IntN(len(p.managers))]
		ctx, allocator := m.working()
		err = do(ctx, allocator)
		p.stage.RUnlock()
		if err == nil || p.t.Context().Err() != nil {
			return err
		}
		if random.IntN(3) == 0 {
			pause(random)
		}
	}
	return err
}

// pause lets other goroutines run.
func pause(random *rand.Rand) {
	<-time.After(time.Duration(random.IntN(3000)) * time.Microsecond)
}

// work claims and releases addresses for its own holders. Some are replaced by new ones, for which no manager has an address cached.
func (p *simulation) work(worker, times int) {
	random := p.random(uint64(100 + worker))
	var former [2]int
	for range times {
		n := random.IntN(2)
		id := fmt.Sprintf("default/lb-%d-%d-%d", worker, n, former[n])
		if random.IntN(5) < 3 {
			p.claim(random, id)
			continue
		}
		p.release(random, id)
		former[n] += random.IntN(2)
	}
}

// claim calls one manager, or two concurrently.
func (p *simulation) claim(random *rand.Rand, id string) {
	var wg sync.WaitGroup
	if random.IntN(2) == 0 {
		other := p.random(random.Uint64())
		wg.Go(func() { p.claimOnce(other, id) })
	}
	p.claimOnce(random, id)
	wg.Wait()
}

func (p *simulation) claimOnce(random *rand.Rand, id string) {
	since := p.now.Add(1)
	var got ipam.Claimed
	err := p.retry(random, func(ctx context.Context, a *ipam.Allocator) (err error) {
		got, err = a.Claim(ctx, p.pool, id)
		return err
	})
	if err != nil {
		p.t.Errorf("seed %d: %s gets no address: %v", p.seed, id, err)
		return
	}
	p.record(since, operation{true, id, got.IP})
}

func (p *simulation) release(random *rand.Rand, id string) {
	since := p.now.Add(1)
	err := p.retry(random, func(ctx context.Context, a *ipam.Allocator) error { return a.Release(ctx, p.pool, id) })
	if err != nil {
		p.t.Errorf("seed %d: %s cannot release: %v", p.seed, id, err)
		return
	}
	p.mu.Lock()
	had := slices.Clone(p.lives[id])
	p.mu.Unlock()
	for _, ip := range had {
		p.record(since, operation{false, id, ip})
	}
}

// editConcurrently writes the pool as other clients do: it adds and removes its own holder with reads and updates of the whole
// object, and corrupts the rest of the status.
func (p *simulation) editConcurrently(times int, adds bool) {
	random := p.random(99)
	mine := map[string]bool{}
	for range times {
		since := p.now.Add(1)
		now := object(p.t, p.pool)
		var done []operation
		for ip, id := range now.Status.Allocated {
			if mine[ip] && random.IntN(2) == 0 {
				delete(now.Status.Allocated, ip)
				done = append(done, operation{false, id, netip.MustParseAddr(ip)})
			}
		}
		if adds {
			ip := netip.MustParsePrefix(now.Spec.Ranges[0].Subnet).Addr().Next().Next()
			for now.Status.Allocated[ip.String()] != "" || p.existing[ip.String()] != nil { // the pool does not record the latter
				ip = ip.Next()
			}
			if now.Status.Allocated == nil {
				now.Status.Allocated = map[string]string{}
			}
			now.Status.Allocated[ip.String()] = "machines/m-" + ip.String()
			now.Status.LastAllocated = ip.String()
			mine[ip.String()] = true
			done = append(done, operation{true, "machines/m-" + ip.String(), ip})
		}
		now.Status.Total, now.Status.Available = random.Int64N(100), -1
		now.Status.AllocatedHistory = map[string]string{"nonsense": "x", "10.99.99.99": "default/lb-0-0-0"}
		if err := api.Update(p.t.Context(), now); err == nil {
			p.record(since, done...)
		} else if !apierrors.IsConflict(err) {
			p.t.Error(err)
		}
		pause(random)
	}
}

// keep creates load balancers that show an address of the pool.
func (p *simulation) keep(count int) {
	p.t.Helper()
	p.existing = map[string]*lbv1.LoadBalancer{}
	for i := range count {
		name := fmt.Sprintf("%s-%d", p.pool, i)
		p.claimOnce(p.random(97), "default/"+name)
		if len(p.lives["default/"+name]) == 0 {
			p.t.FailNow()
		}
		ip := p.lives["default/"+name][0].String()
		lb := &lbv1.LoadBalancer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IPPool: p.pool, IP: ip}},
		}
		if err := api.Create(p.t.Context(), lb); err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { _ = api.Delete(context.WithoutCancel(p.t.Context()), lb) })
		p.existing[ip] = lb
	}
}

// edit removes entries of existing load balancers, or replaces the holder and removes it later.
func (p *simulation) edit(times int) {
	random := p.random(96)
	for i := range times {
		pool := object(p.t, p.pool)
		p.editOne(random, pool, pool.Status.Allocated, i == times-1)
		for _, block := range blocks(p.t, p.pool) {
			p.editOne(random, &block, block.Allocated, i == times-1)
		}
		pause(random)
	}
}

func (p *simulation) editOne(random *rand.Rand, o client.Object, allocated map[string]string, last bool) {
	edited := false
	for ip := range p.existing {
		holder, held := allocated[ip]
		switch draw := random.IntN(4); {
		case !held:
			continue
		case draw == 0 || holder == "machines/edited-"+ip && (last || draw == 1):
			delete(allocated, ip)
		case draw == 2 && !last:
			allocated[ip] = "machines/edited-" + ip
		default:
			continue
		}
		edited = true
	}
	if !edited {
		return
	}
	if err := api.Update(p.t.Context(), o); last && apierrors.IsConflict(err) { // by clients that do not know that the run is over
		if err := api.Get(p.t.Context(), client.ObjectKeyFromObject(o), o); err == nil {
			switch is := o.(type) {
			case *lbv1.IPPool:
				allocated = is.Status.Allocated
			case *lbv1.IPPoolBlock:
				allocated = is.Allocated
			}
			p.editOne(random, o, allocated, last)
		}
	}
}

// crash ends managers between any two of their writes. Writes of a manager that runs alone arrive before the next one starts.
func (p *simulation) crash(times int) {
	random := p.random(98)
	for range times {
		m := p.managers[random.IntN(len(p.managers))]
		pause(random)
		m.end()
		if len(p.managers) == 1 {
			p.stage.Lock()
			m.faults.late.Wait()
			m.begin()
			p.stage.Unlock()
		} else {
			m.begin()
		}
	}
}

// run starts all participants concurrently and checks the result.
func (p *simulation) run(times int, adds bool) (holders, addresses porcupine.CheckResult) {
	inBlocks := len(object(p.t, p.pool).Status.Allocated) >= allocation.MaxInPool
	p.keep(3)
	seen := follow(p.t, p.pool, inBlocks)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() { p.work(worker, times) })
	}
	wg.Go(func() { p.editConcurrently(times, adds) })
	wg.Go(func() { p.edit(times) })
	wg.Go(func() { p.crash(times) })
	wg.Wait()
	for _, m := range p.managers {
		m.faults.late.Wait()
	}
	p.several = seen.end(inBlocks)
	holders, _ = porcupine.CheckOperationsVerbose(oneHolder(), p.history, time.Minute)
	addresses, _ = porcupine.CheckOperationsVerbose(oneAddress(), p.history, time.Minute)
	return holders, addresses
}

// end checks what a new manager finds.
func (p *simulation) end() (leaked int) {
	p.t.Helper()
	allocator := ipam.NewAllocator(api, api)
	is, err := updateStatus(p.t, allocator, p.pool)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(is.Doubled) > 0 {
		p.t.Errorf("seed %d: several hold %v", p.seed, is.Doubled)
	}
	if several := slices.DeleteFunc(is.Several, func(id string) bool { return id == filler }); len(several) > 0 {
		p.t.Errorf("seed %d: %v hold several addresses", p.seed, several)
	}
	stored := map[string][]netip.Addr{}
	note := func(allocated map[string]string) {
		for ip, id := range allocated {
			stored[id] = append(stored[id], netip.MustParseAddr(ip))
		}
	}
	note(object(p.t, p.pool).Status.Allocated)
	for _, block := range blocks(p.t, p.pool) {
		note(block.Allocated)
	}
	for id, has := range p.lives {
		if !slices.ContainsFunc(stored[id], func(ip netip.Addr) bool { return slices.Contains(has, ip) }) {
			p.t.Errorf("seed %d: %s has got %v and is stored with %v", p.seed, id, has, stored[id])
		}
	}
	for id := range stored {
		if _, lives := p.lives[id]; !lives && id != filler {
			leaked++
			p.t.Logf("%s has nothing, and is stored with %v", id, stored[id])
		}
	}
	return leaked
}

// newSimulation creates a pool and managers for a run.
func newSimulation(t *testing.T, managers int, pool *lbv1.IPPool, often often) (p *simulation, times int) {
	t.Helper()
	p = &simulation{t: t, seed: number(t, seedVariable, rand.Uint64()>>1), lives: map[string][]netip.Addr{}}
	t.Logf("%s=%d", seedVariable, p.seed)
	if err := api.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	p.pool = pool.Name
	t.Cleanup(func() { // another run uses the same addresses
		if err := api.Delete(context.WithoutCancel(t.Context()), pool); err != nil {
			t.Error(err)
		}
	})
	for i := range managers {
		m := &manager{t: t, faults: faults{often: often, random: p.random(uint64(i))}}
		m.begin()
		p.managers = append(p.managers, m)
	}
	return p, int(number(t, roundsVariable, rounds))
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	given := os.Getenv(variable)
	if given == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func TestAllocationsAreUniqueDespiteFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		managers int
		pool     *lbv1.IPPool
		adds     bool
	}{
		"three managers of a small pool": {3, smallPool("10.50.0.0/26"), true},
		"one manager of a large pool":    {1, largePool("10.51.0.0/21"), false},
		"three managers of a large pool": {3, largePool("10.52.0.0/21"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, times := newSimulation(t, tc.managers, tc.pool, often{refused: 5, unanswered: 5, lateDone: 5, slow: 10})
			if holders, addresses := p.run(times, tc.adds); holders != porcupine.Ok || addresses != porcupine.Ok {
				t.Errorf("seed %d: the history of %d claims and releases is %s for addresses, and %s for who has them", p.seed, len(p.history), holders, addresses)
			}
			if len(p.several) > 0 {
				t.Errorf("seed %d: %v", p.seed, p.several)
			}
			if leaked := p.end(); leaked > 0 {
				t.Errorf("seed %d: %d addresses have no holder", p.seed, leaked)
			}
		})
	}
}

// The test above must fail for managers that write without the resourceVersion from which the write was computed.
func TestCheckerFindsDuplicateAllocations(t *testing.T) {
	t.Parallel()
	for try := range 10 {
		p, times := newSimulation(t, 3, smallPool(fmt.Sprintf("10.53.%d.0/26", try)), often{blind: true, slow: 20})
		if holders, _ := p.run(times, true); holders == porcupine.Illegal {
			return
		}
	}
	t.Error("writes without a version have given no address twice")
}

// manager is restarted when it has ended.
type manager struct {
	t      *testing.T
	faults faults

	mu        sync.Mutex
	ctx       context.Context //nolint:containedctx // it ends with the manager
	cancel    context.CancelFunc
	allocator *ipam.Allocator
}

func (m *manager) working() (context.Context, *ipam.Allocator) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ctx, m.allocator
}

func (m *manager) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx, m.cancel = context.WithCancel(m.t.Context())
	m.allocator = ipam.NewAllocator(&unreliable{Writer: api, faults: &m.faults}, api)
}

func (m *manager) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancel()
}

// often is the percentage of writes with each fault.
type often struct {
	// refused writes are not sent, unanswered ones lose their response, lateDone ones time out and are applied later, slow ones are
	// delayed.
	refused, unanswered, lateDone, slow int
	// blind removes the resourceVersion from writes.
	blind bool
}

// faults are the faults of a manager.
type faults struct {
	often
	mu     sync.Mutex
	random *rand.Rand
	late   sync.WaitGroup
}

var errLost = errors.New("the connection was lost")

func (f *faults) draw() (fault int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(100), time.Duration(f.random.IntN(15)) * time.Millisecond
}

// unreliable is a writer with faults.
type unreliable struct {
	client.Writer
	faults *faults
}

func (u *unreliable) send(ctx context.Context, o client.Object, write func(context.Context, client.Object) error) error {
	f := u.faults
	drawn, wait := f.draw()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case drawn < f.refused:
		return errLost
	case drawn < f.refused+f.unanswered:
		_ = write(context.WithoutCancel(ctx), o.DeepCopyObject().(client.Object))
		return errLost
	case drawn < f.refused+f.unanswered+f.lateDone:
		later := o.DeepCopyObject().(client.Object)
		f.late.Go(func() {
			<-time.After(wait)
			_ = write(context.WithoutCancel(ctx), later)
		})
		return errLost
	case drawn < f.refused+f.unanswered+f.lateDone+f.slow:
		<-time.After(wait)
	}
	return write(ctx, o)
}

func (u *unreliable) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return u.send(ctx, o, func(ctx context.Context, o client.Object) error { return u.Writer.Create(ctx, o, opts...) })
}

func (u *unreliable) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return u.send(ctx, o, func(ctx context.Context, o client.Object) error { return u.Writer.Delete(ctx, o, opts...) })
}

func (u *unreliable) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if u.faults.blind {
		data, err := p.Data(o)
		if err != nil {
			return err
		}
		p = client.RawPatch(p.Type(), withoutVersion(data))
	}
	return u.send(ctx, o, func(ctx context.Context, o client.Object) error { return u.Writer.Patch(ctx, o, p, opts...) })
}

// withoutVersion removes the resourceVersion from a patch.
func withoutVersion(data []byte) []byte {
	body := map[string]any{}
	if err := json.Unmarshal(data, &body); err != nil {
		return data
	}
	if metadata, ok := body["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
	}
	data, _ = json.Marshal(body) // it was just decoded
	return data
}
