// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd is the etcd server built from its module, which ships no command of its own there.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
