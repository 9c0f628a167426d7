// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Move is the record of a move on the infrastructure cluster.
type Move struct {
	Machine string      `json:"machine"`
	UID     types.UID   `json:"uid"`
	From    string      `json:"from,omitempty"`
	To      string      `json:"to"`
	Started metav1.Time `json:"started"`
	// ClonedFrom is the original value of cloned-from-name, to be restored.
	ClonedFrom string `json:"clonedFrom"`
	// Others lists the names of the other machines at the start. A machine that is not among them was created since.
	Others []string `json:"others,omitempty"`
	// Aborting is the reason for which the move is being aborted, and Why its message; both are empty otherwise.
	Aborting string `json:"aborting,omitempty"`
	Why      string `json:"why,omitempty"`
}

func (m Move) encode() (string, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("recording the move of %s: %w", m.Machine, err)
	}
	return string(data), nil
}

// decode parses a record. It returns an error for a damaged one, which a user must resolve.
func decode(text string) (*Move, error) {
	if text == "" {
		return nil, nil
	}
	move := &Move{}
	if err := json.Unmarshal([]byte(text), move); err != nil {
		return nil, fmt.Errorf("reading the record of a move: %w", err)
	}
	if move.UID == "" || move.Machine == "" {
		return nil, fmt.Errorf("reading the record of a move: it does not name a machine: %q", text)
	}
	return move, nil
}
