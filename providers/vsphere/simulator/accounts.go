// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/vim25/types"
)

// accounts are the tests' account, and the operator's, which is the server's own
// and outlives every SetPassword.
type accounts struct {
	username string
	operator credentials

	mu     sync.Mutex
	secret string
}

type credentials struct{ username, password string }

func newAccounts(username, password string) *accounts {
	return &accounts{
		username: username,
		secret:   password,
		operator: credentials{username: "operator", password: uuid.NewString()},
	}
}

func (a *accounts) password() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret
}

func (a *accounts) setPassword(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secret = password
}

func (a *accounts) valid(login *types.Login) bool {
	given := credentials{username: login.UserName, password: login.Password}
	return given == a.operator || given == credentials{username: a.username, password: a.password()}
}

// SetPassword makes this the only password that logs in. Sessions that exist go on.
func (s *Server) SetPassword(password string) { s.accounts.setPassword(password) }
