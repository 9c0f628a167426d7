// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Use is what a test does with a block of code of a page.
type Use string

// Uses of blocks.
const (
	// Run is a block whose commands are run word for word.
	Run Use = "run"
	// Replace is a block that depends on real infrastructure. Something else runs instead.
	Replace Use = "replace"
	// Show is a block that is only shown.
	Show Use = "show"
)

// RealInfrastructure begins the first line of a block that depends on real infrastructure, followed by the name of what replaces it.
const RealInfrastructure = "# real infrastructure: "

// Block is a block of code of a page that users follow from top to bottom.
type Block struct {
	// Line is the number of its first line of code in the page.
	Line int
	Use  Use
	// Name is the name of what replaces it, or the reason for which it is only shown.
	Name string
	Code string
}

var (
	// shownOnly is the comment in the line before a block that is only shown.
	shownOnly = regexp.MustCompile(`^<!-- shown: (.+) -->$`)
	// replacedBy is the name of what replaces a block.
	replacedBy = regexp.MustCompile(`^[a-z]+( [a-z]+)*$`)
)

// Blocks returns the blocks of code of a page in their order: shell commands that are run, or replaced if their first line begins with
// RealInfrastructure; and those with a comment that names why they are only shown. Any other block is an error.
func Blocks(page string) ([]Block, error) {
	var blocks []Block
	var errs []error
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(strings.TrimSpace(lines[i]), "```") {
			continue
		}
		length := slices.Index(lines[i+1:], "```")
		if length < 0 {
			return nil, errors.Join(append(errs, fmt.Errorf("line %d: the block has no end: end it with ``` at the beginning of a line", i+1))...)
		}
		before := ""
		if i > 0 {
			before = lines[i-1]
		}
		block, err := classify(before, lines[i], lines[i+1:i+1+length])
		block.Line = i + 2
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", block.Line, err))
		}
		blocks = append(blocks, block)
		i += length + 1
	}
	return blocks, errors.Join(errs...)
}

// classify returns the block with the line before it, its first fence and its code.
func classify(before, fence string, code []string) (Block, error) {
	block := Block{Use: Run, Code: strings.Join(code, "\n") + "\n"}
	if strings.TrimSpace(block.Code) == "" {
		return block, errors.New("the block is empty: remove it")
	}
	if reason := shownOnly.FindStringSubmatch(before); reason != nil {
		block.Use, block.Name = Show, reason[1]
		return block, nil
	}
	if fence != "```sh" {
		return block, fmt.Errorf("the block begins with %q: begin commands with ```sh, or write <!-- shown: REASON --> into the line before", fence)
	}
	for i, line := range code {
		name, found := strings.CutPrefix(line, RealInfrastructure)
		switch {
		case !found:
		case i > 0:
			return block, fmt.Errorf("%q must be the first line of the block: split the block", line)
		case !replacedBy.MatchString(name) || len(code) == 1:
			return block, fmt.Errorf("%q must name what replaces the commands that follow", line)
		default:
			block.Use, block.Name = Replace, name
		}
	}
	return block, nil
}
