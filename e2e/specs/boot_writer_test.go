//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util"
)

const (
	writeEvery   = 200 * time.Millisecond
	writeTimeout = time.Second
	writeKey     = "number"
)

// longestGap is how long a client may be without an API server when the machine with the virtual IP address loses power. kube-vip's lease
// ends 15 seconds after its last renewal, and the others retry every 2 seconds, with a jitter of a fifth. etcd needs a second or two to
// elect a new leader if the old one is lost as well. The rest allows for a busy machine.
const longestGap = 30 * time.Second

// writer writes numbered ConfigMaps to an API server and records which were acknowledged, and when.
type writer struct {
	configMaps typedv1.ConfigMapInterface
	prefix     string // name prefix of its ConfigMaps
	stop       func()

	mu           sync.Mutex
	acknowledged map[int]time.Time
}

// startWriter writes every 200 milliseconds, whether or not earlier writes were answered, until stop is called.
func startWriter(config *rest.Config) *writer {
	config = rest.CopyConfig(config)
	config.QPS = -1
	// A connection is closed if its request times out; with HTTP/2 the next request would share it.
	config.NextProtos = []string{"http/1.1"}
	client, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	w := &writer{
		configMaps: client.CoreV1().ConfigMaps(metav1.NamespaceDefault), prefix: "write-" + util.RandomString(6) + "-",
		acknowledged: map[int]time.Time{},
	}
	running, cancel := context.WithCancel(background())
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(writeEvery)
		defer tick.Stop()
		for number := 1; ; number++ {
			select {
			case <-running.Done():
				return
			case <-tick.C:
				all.Go(func() { w.write(number) })
			}
		}
	})
	w.stop = func() {
		cancel()
		all.Wait()
	}
	return w
}

func (w *writer) write(number int) {
	ctx, cancel := context.WithTimeout(background(), writeTimeout)
	defer cancel()
	_, err := w.configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.prefix + strconv.Itoa(number)},
		Data:       map[string]string{writeKey: strconv.Itoa(number)},
	}, metav1.CreateOptions{})
	if err != nil {
		return // The write was not acknowledged.
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged[number] = time.Now()
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// awaitWrites waits until a number of additional writes were acknowledged.
func (w *writer) awaitWrites(more int) {
	before := w.count()
	Eventually(w.count, "1m", writeEvery).Should(BeNumerically(">=", before+more))
}

// expectNoLostWrites stops the writer and expects every acknowledged write to exist, and no long gap between them.
func (w *writer) expectNoLostWrites(ctx context.Context) {
	By("Reading back what was acknowledged")
	w.stop()
	list, err := w.configMaps.List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	stored := map[string]string{}
	for _, configMap := range list.Items {
		stored[configMap.Name] = configMap.Data[writeKey]
	}
	var lost []string
	for number := range w.acknowledged {
		if name := w.prefix + strconv.Itoa(number); stored[name] != strconv.Itoa(number) {
			lost = append(lost, name)
		}
	}
	Expect(lost).To(BeEmpty(), "acknowledged writes that are not there")
	gap := w.gap()
	AddReportEntry("acknowledged writes, none lost", fmt.Sprint(len(w.acknowledged)))
	AddReportEntry("longest gap between acknowledged writes", gap.Round(10*time.Millisecond).String())
	Expect(gap).To(BeNumerically("<", longestGap))
}

// gap returns the longest time between two acknowledged writes.
func (w *writer) gap() time.Duration {
	times := slices.SortedFunc(maps.Values(w.acknowledged), time.Time.Compare)
	var longest time.Duration
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i].Sub(times[i-1]))
	}
	return longest
}
