// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// RESTClient has its own login, which is made on first use and repeated after it has expired.
type RESTClient struct {
	*rest.Client

	user  *url.Userinfo
	slots Slots
	turn  Slots // held to log in
}

// NewRESTClient returns a client without calling anything. metered reports every call.
func NewRESTClient(of *vim25.Client, user *url.Userinfo, slots Slots, metered func(http.RoundTripper) http.RoundTripper) *RESTClient {
	client := rest.NewClient(of)
	client.Transport = metered(client.Transport)
	return &RESTClient{Client: client, user: user, slots: slots, turn: OneSlot()}
}

// Run runs calls with a login. doing is a gerund for the error.
func (c *RESTClient) Run(ctx context.Context, doing string, f func(context.Context) error) error {
	return c.slots.Run(ctx, doing, classify, func(ctx context.Context) error {
		id, err := c.login(ctx, "")
		if err == nil {
			err = f(ctx)
		}
		if id != "" && rest.IsStatusError(err, http.StatusUnauthorized) { // the session has expired
			if _, err = c.login(ctx, id); err == nil {
				err = f(ctx)
			}
		}
		return err
	})
}

// login returns the identifier of a session other than the expired one.
func (c *RESTClient) login(ctx context.Context, expired string) (string, error) {
	release, err := c.turn.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if id := c.SessionID(); id != expired {
		return id, nil // another caller has logged in
	}
	c.SessionID("")
	err = c.Login(ctx, c.user)
	return c.SessionID(), err
}

// Logout ends the login, if there is one.
func (c *RESTClient) Logout(ctx context.Context) error {
	if c.SessionID() == "" {
		return nil
	}
	err := c.Client.Logout(ctx)
	c.SessionID("")
	return err
}

// IgnoreNotFound returns nil if err is a not-found error, else err.
func IgnoreNotFound(err error) error {
	if rest.IsStatusError(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// classify classifies an error of the REST API. A failure of the REST API means nothing for the session of the SOAP API, so it
// is never ErrUnreachable.
func classify(err error) error {
	switch {
	case err == nil, errors.Is(err, vcerrors.ErrInvalid), errors.Is(err, vcerrors.ErrNotFound), errors.Is(err, vcerrors.ErrUnavailable), errors.Is(err, vcerrors.ErrForbidden):
		return err
	case rest.IsStatusError(err, http.StatusUnauthorized), rest.IsStatusError(err, http.StatusForbidden):
		return fmt.Errorf("%w: %w", vcerrors.ErrForbidden, err)
	case rest.IsStatusError(err, http.StatusNotFound):
		return fmt.Errorf("%w: %w", vcerrors.ErrNotFound, err)
	case strings.HasPrefix(err.Error(), "400 "):
		return fmt.Errorf("%w: %w", vcerrors.ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", vcerrors.ErrUnavailable, err)
}
