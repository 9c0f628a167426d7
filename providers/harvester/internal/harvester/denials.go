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

// refusedRead is the refusal of a right to see a type, whatever its words: what is read passes no webhook and no quota.
type refusedRead struct{ err error }

// Error is what Harvester has said.
func (r *refusedRead) Error() string { return r.err.Error() }

// Unwrap returns the refusal.
func (r *refusedRead) Unwrap() error { return r.err }

// Denied turns the refusal of a right into a problem that names it; nil when err is something else, such as the refusal of a webhook or
// of a quota, which has the same code. An authorizer that says in words of its own what may not be written is not recognized: its refusal
// stays an error.
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

// DeniedSight reports whether it is the refusal of a right to see a type that informers read, which the cluster shows too: see Trouble.
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
		"the account of the kubeconfig lacks a right on Harvester: %s; grant it there", refusal.Status().Message)}
}

// denied names a right that the account lacks for something that is read in these namespaces; nil when it has all of them. Whoever reads
// elsewhere is told so by what he gets, and others need not care.
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
	// Always the same one of several, so that what is said does not change by chance.
	return forbidden(slices.MinFunc(refusals, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) }))
}

// refused notes that the account may not see a type, until it may or nobody wants to any more. An informer that was stopped may still say so.
func (c *Connection) refused(namespace, kind string, err error) {
	c.mu.Lock()
	known := c.known(namespace, kind)
	first := known != nil && known.denied == nil
	if first {
		known.asked = c.clock.Now() // who needs it has from now on the time to say so
	}
	if known != nil {
		known.denied = err
	}
	c.mu.Unlock()
	if first {
		c.wakeAll()
		go c.awaitRight(known, namespace, kind)
	}
}

// known is the informer of a type in a namespace; nil when there is none. The caller has the lock.
func (c *Connection) known(namespace, kind string) *informer {
	in := c.caches[namespace]
	if in == nil {
		return nil
	}
	return in.informers[kind]
}

// awaitRight asks now and then whether the account may see a type: nothing tells when a right is granted. It gives up when nobody wants to
// see it any more, because what has named it was mended or is gone, and when the informer is stopped.
func (c *Connection) awaitRight(denied *informer, namespace, kind string) {
	backoff, called := patience(), time.Time{}
	for sleep(denied.ctx, backoff.Step()) {
		asked := c.asked(denied)
		switch granted := c.mayList(namespace, kind); {
		case granted, asked.Before(called):
			c.endDenial(denied, namespace, kind, granted)
			c.wakeAll()
			return
		case c.clock.Since(asked) >= c.silence:
			called = c.clock.Now()
			c.wakeAll() // who still needs it asks for it again
		}
	}
}

// asked is when somebody last wanted to see what the account may not.
func (c *Connection) asked(denied *informer) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return denied.asked
}

// endDenial forgets that the account might not see a type. Without the right its informer, which goes on asking, is stopped too.
func (c *Connection) endDenial(denied *informer, namespace, kind string, granted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	denied.denied = nil
	if !granted && c.known(namespace, kind) == denied {
		c.stop(namespace, kind)
	}
}

// mayList asks for one object of a type.
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
