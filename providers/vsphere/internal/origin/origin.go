// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package origin tells what one management cluster makes in a vCenter from what another one makes.
package origin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// digits are enough for management clusters that share a vCenter.
	digits = 8
	// maxName is how long vCenter lets the name of a group or a rule be.
	maxName = 80
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Of returns the identity of the management cluster: of its namespace kube-system, which lives as long as it does.
func Of(ctx context.Context, reader client.Reader) (string, error) {
	namespace := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("reading namespace %s, which identifies the management cluster: %w", metav1.NamespaceSystem, err)
	}
	return short(string(namespace.UID), digits), nil
}

// Mark is the description of what is made for a management cluster, where there is room for one.
func Mark(identity string) string { return "Made by Faultline for management cluster " + identity }

// Here knows the identity of the management cluster that a manager is in.
type Here struct {
	Reader client.Reader

	mu sync.Mutex
	id string
}

// Mark is that of this management cluster, which is asked for once.
func (h *Here) Mark(ctx context.Context) (string, error) {
	h.mu.Lock()
	known := h.id
	h.mu.Unlock()
	if known == "" {
		id, err := Of(ctx, h.Reader)
		if err != nil {
			return "", err
		}
		h.mu.Lock()
		h.id, known = id, id
		h.mu.Unlock()
	}
	return Mark(known), nil
}

// Name returns a name for something that is made for an object: the object's own, the identity and what it is. One that would
// be too long for vCenter is shortened in a way that keeps names apart.
func Name(object, identity, what string) string {
	tail := "-" + identity + "-" + what
	if len(object)+len(tail) <= maxName {
		return object + tail
	}
	tail = "-" + short(object, digits) + tail
	return strings.TrimRight(object[:maxName-len(tail)], "-.") + tail
}

func short(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}
