// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/vim25/types"
)

// Accounts are the tests' account, and the operator's, which is the server's own
// and outlives every SetPassword.
type Accounts struct {
	Username string
	Operator Account

	mu     sync.Mutex
	secret string
}

// NewAccounts are those of a vCenter with one account.
func NewAccounts(username, password string) *Accounts {
	return &Accounts{
		Username: username,
		secret:   password,
		Operator: Account{Username: "operator", Password: uuid.NewString()},
	}
}

// Password is the one that is valid now.
func (a *Accounts) Password() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret
}

// SetPassword makes this the only password that logs in.
func (a *Accounts) SetPassword(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secret = password
}

// Valid reports whether somebody may log in.
func (a *Accounts) Valid(login *types.Login) bool {
	given := Account{Username: login.UserName, Password: login.Password}
	return given == a.Operator || given == Account{Username: a.Username, Password: a.Password()}
}
