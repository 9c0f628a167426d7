// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/vim25/types"
)

// Accounts holds the account for tests, and the server's own account, which SetPassword does not affect.
type Accounts struct {
	Username string
	Admin    Account

	mu     sync.Mutex
	secret string
}

// NewAccounts returns the accounts of a vCenter with one account for tests.
func NewAccounts(username, password string) *Accounts {
	return &Accounts{
		Username: username,
		secret:   password,
		Admin:    Account{Username: "operator", Password: uuid.NewString()},
	}
}

// Password returns the current password.
func (a *Accounts) Password() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secret
}

// SetPassword replaces the password. Existing sessions continue.
func (a *Accounts) SetPassword(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secret = password
}

// Valid reports whether the login is valid.
func (a *Accounts) Valid(login *types.Login) bool {
	given := Account{Username: login.UserName, Password: login.Password}
	return given == a.Admin || given == Account{Username: a.Username, Password: a.Password()}
}
