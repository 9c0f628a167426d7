// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// refusedRead is a Forbidden error for a read, whatever its message: reads pass no admission webhook and no quota.
type refusedRead struct{ err error }

// Error returns the message of Harvester.
func (r *refusedRead) Error() string { return r.err.Error() }

// Unwrap returns the original error.
func (r *refusedRead) Unwrap() error { return r.err }

// Denied converts a denied permission to a problem that names it. It returns nil for other errors, such as a rejection by a webhook or a
// quota, which has the same code. A denied write is recognized by its message; that of an authorizer with its own wording stays an error.
func Denied(err error) *Problem {
	problem := forbidden(err)
	if DeniedSight(err) {
		return problem
	}
	if problem == nil || !strings.Contains(problem.Message, "User ") || !strings.Contains(problem.Message, " cannot ") {
		return nil
	}
	return problem
}

// DeniedSight reports whether err is a denied permission to read a kind with an informer. The cluster reports such denials, too: see
// Trouble.
func DeniedSight(err error) bool {
	read := (*refusedRead)(nil)
	return errors.As(err, &read)
}

func forbidden(err error) *Problem {
	var refusal apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &refusal) {
		return nil
	}
	return &Problem{Reason: infrav1.HarvesterAccessDeniedReason, Message: fmt.Sprintf(
		"the account of the kubeconfig lacks a permission on Harvester: %s; grant it there", refusal.Status().Message)}
}

// denied returns a permission that the account lacks to read something in these namespaces, or nil. Askers that read other namespaces get
// the error from their reads.
func (c *Connection) denied(namespaces []string) *Problem {
	var refusals []error
	for _, namespace := range namespaces {
		if in := c.caches[namespace]; in != nil {
			for _, known := range in.informers {
				if known.denied != nil {
					refusals = append(refusals, known.denied)
				}
			}
		}
	}
	if len(refusals) == 0 {
		return nil
	}
	// Always return the same of several denials, so that the message does not fluctuate.
	return forbidden(slices.MinFunc(refusals, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) }))
}

// recordDenial records that the account may not read a kind, until it may or no asker reads it any more. A stopped informer may
// still call it.
func (c *Connection) recordDenial(namespace, kind string, err error) {
	c.mu.Lock()
	known := c.informerOf(namespace, kind)
	first := known != nil && known.denied == nil
	if first {
		known.asked = c.clock.Now() // from now on, askers that need it have time to read it again
	}
	if known != nil {
		known.denied = err
	}
	c.mu.Unlock()
	if first {
		c.enqueueAsked()
		go c.awaitPermission(known, namespace, kind)
	}
}

// informerOf returns the informer of a type in a namespace, or nil. The caller must hold the lock.
func (c *Connection) informerOf(namespace, kind string) *informer {
	in := c.caches[namespace]
	if in == nil {
		return nil
	}
	return in.informers[kind]
}

// awaitPermission probes periodically whether the account may read a kind, since no event reports a granted permission. It stops when no
// asker reads the kind any more, because the reference was fixed or deleted, and when the informer is stopped.
func (c *Connection) awaitPermission(denied *informer, namespace, kind string) {
	backoff, called := probeBackoff(), time.Time{}
	for sleep(denied.ctx, backoff.Step()) {
		asked := c.lastUse(denied)
		switch granted := c.mayList(namespace, kind); {
		case granted, asked.Before(called):
			c.endDenial(denied, namespace, kind, granted)
			c.enqueueAsked()
			return
		case c.clock.Since(asked) >= c.silence:
			called = c.clock.Now()
			c.enqueueAsked() // askers that still need it read it again
		}
	}
}

// lastUse returns when an asker last read the denied kind.
func (c *Connection) lastUse(denied *informer) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return denied.asked
}

// endDenial clears the denial. If the permission is still missing, it also stops the informer, which would keep retrying.
func (c *Connection) endDenial(denied *informer, namespace, kind string, granted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	denied.denied = nil
	if !granted && c.informerOf(namespace, kind) == denied {
		c.stop(namespace, kind)
	}
}

// mayList reports whether the account may list a kind, by listing a single object.
func (c *Connection) mayList(namespace, kind string) bool {
	for gvk, goType := range c.scheme.AllKnownTypes() {
		if "*"+goType.String() != kind {
			continue
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
		defer cancel()
		return !apierrors.IsForbidden(c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)))
	}
	return true
}
