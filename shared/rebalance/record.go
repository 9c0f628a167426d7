// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Move is a move as it is recorded on the infrastructure cluster.
type Move struct {
	Machine string      `json:"machine"`
	UID     types.UID   `json:"uid"`
	From    string      `json:"from,omitempty"`
	To      string      `json:"to"`
	Started metav1.Time `json:"started"`
	// ClonedFrom is cloned-from-name as it was before, to be restored.
	ClonedFrom string `json:"clonedFrom"`
	// Others are the machines that there were beside it: one that is not among them has come since.
	Others []string `json:"others,omitempty"`
	// Aborting is why the move is being aborted, Why in a sentence; empty while it is not.
	Aborting string `json:"aborting,omitempty"`
	Why      string `json:"why,omitempty"`
}

func (m Move) encode() (string, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("writing down the move of %s: %w", m.Machine, err)
	}
	return string(data), nil
}

// decode reads a record. One that is damaged is an error: what it was about must be found out by a person.
func decode(text string) (*Move, error) {
	if text == "" {
		return nil, nil
	}
	move := &Move{}
	if err := json.Unmarshal([]byte(text), move); err != nil {
		return nil, fmt.Errorf("reading the record of a move: %w", err)
	}
	if move.UID == "" || move.Machine == "" {
		return nil, fmt.Errorf("reading the record of a move: it names no machine: %q", text)
	}
	return move, nil
}
