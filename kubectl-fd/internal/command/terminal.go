// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"

	"golang.org/x/term"
)

// usual is the assumed width of a terminal that does not report it.
const usual = 80

func terminalWidth(file *os.File) int {
	if !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return usual
	}
	return width
}
