// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managementcluster distinguishes the objects that management clusters create in a shared vCenter.
package managementcluster

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
	// digits is the length of an identity, enough to distinguish the management clusters that share a vCenter.
	digits = 8
	// maxName is the length limit of vCenter for the names of groups and rules.
	maxName = 80
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Of returns the identity of the management cluster, derived from the UID of its namespace kube-system, which lives as long as
// the cluster.
func Of(ctx context.Context, reader client.Reader) (string, error) {
	namespace := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("reading namespace %s, which identifies the management cluster: %w", metav1.NamespaceSystem, err)
	}
	return short(string(namespace.UID), digits), nil
}

// Mark returns the description for objects created for a management cluster, if they can have one.
func Mark(identity string) string { return "Made by Faultline for management cluster " + identity }

// ID returns the identity of the manager's management cluster.
type ID struct {
	Reader client.Reader

	mu sync.Mutex
	id string
}

// Mark returns the mark of this management cluster. It reads the identity once.
func (h *ID) Mark(ctx context.Context) (string, error) {
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

// Name returns the name for something created for an object, consisting of the object's name, the identity and what it is. A
// name that is too long for vCenter is shortened but stays unique.
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
