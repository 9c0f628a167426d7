// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writer measures what a fault costs a client of a cluster: it writes continuously, and counts the writes that are lost.
package writer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util"
)

const (
	// Every is the time between two writes.
	Every   = 200 * time.Millisecond
	timeout = time.Second
	key     = "number"
)

// Writer writes numbered ConfigMaps to an API server and records which were acknowledged, and when.
type Writer struct {
	configMaps typedv1.ConfigMapInterface
	prefix     string // name prefix of its ConfigMaps
	cancel     func()
	all        sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[int]time.Time
}

// Start writes every 200 milliseconds, whether or not earlier writes were answered, until Stop is called or ctx ends.
func Start(ctx context.Context, config *rest.Config) (*Writer, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	// A connection is closed if its request times out; with HTTP/2 the next request would share it.
	config.NextProtos = []string{"http/1.1"}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	w := newWriter(client)
	running, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	w.all.Go(func() {
		tick := time.NewTicker(Every)
		defer tick.Stop()
		for number := 1; ; number++ {
			select {
			case <-running.Done():
				return
			case <-tick.C:
				// A write that has begun ends, so that the API server's answer is known.
				w.all.Go(func() { w.write(context.WithoutCancel(ctx), number) })
			}
		}
	})
	return w, nil
}

func newWriter(client kubernetes.Interface) *Writer {
	return &Writer{
		configMaps: client.CoreV1().ConfigMaps(metav1.NamespaceDefault), prefix: "write-" + util.RandomString(6) + "-",
		cancel: func() {}, acknowledged: map[int]time.Time{},
	}
}

// Stop ends writing. Further calls have no effect.
func (w *Writer) Stop() {
	w.cancel()
	w.all.Wait()
}

func (w *Writer) write(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := w.configMaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.prefix + strconv.Itoa(number)},
		Data:       map[string]string{key: strconv.Itoa(number)},
	}, metav1.CreateOptions{})
	if err != nil {
		return // The write was not acknowledged.
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged[number] = time.Now()
}

// Acknowledged returns the number of acknowledged writes.
func (w *Writer) Acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// Lost stops the writer, and returns the names of the acknowledged ConfigMaps that the API server does not have as they were written.
func (w *Writer) Lost(ctx context.Context) ([]string, error) {
	w.Stop()
	list, err := w.configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading back what was written: %w", err)
	}
	stored := map[string]string{}
	for _, configMap := range list.Items {
		stored[configMap.Name] = configMap.Data[key]
	}
	var lost []string
	for _, number := range slices.Sorted(maps.Keys(w.acknowledged)) {
		if name := w.prefix + strconv.Itoa(number); stored[name] != strconv.Itoa(number) {
			lost = append(lost, name)
		}
	}
	return lost, nil
}

// LongestGap returns the longest time between two acknowledged writes.
func (w *Writer) LongestGap() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := slices.SortedFunc(maps.Values(w.acknowledged), time.Time.Compare)
	var longest time.Duration
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i].Sub(times[i-1]))
	}
	return longest
}
