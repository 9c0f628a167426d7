// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package writer

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestLostWritesAreFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	api := fake.NewClientset()
	w := newWriter(api)
	api.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject().(*corev1.ConfigMap)
		switch object.Name {
		case w.prefix + "2":
			return true, nil, errors.New("no leader")
		case w.prefix + "3":
			return true, object, nil // acknowledged, and forgotten
		}
		return false, nil, nil
	})
	for number := range 5 {
		w.write(t.Context(), number)
	}
	g.Expect(w.Acknowledged()).To(Equal(4), "a write with an error was not acknowledged")
	g.Expect(w.Lost(t.Context())).To(Equal([]string{w.prefix + "3"}))
}

func TestLongestGapIsBetweenAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	began := time.Now()
	w := &Writer{acknowledged: map[int]time.Time{
		1: began, 2: began.Add(5 * time.Second), 3: began.Add(time.Second), // The second was answered last.
	}}
	NewWithT(t).Expect(w.LongestGap()).To(Equal(4 * time.Second))
}
