// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy makes the API server log requests of ServiceAccounts. Managers run with ServiceAccounts; nothing else in the management
// cluster does.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`

// counts reports whether an event stands for a request. A watch counts when it starts, every other request when it is answered.
func counts(e *auditv1.Event) bool {
	if e.Verb == "watch" {
		return e.Stage == auditv1.StageResponseStarted
	}
	return e.Stage == auditv1.StageResponseComplete
}

// nameOf returns the verb and the resource, or the path of a request without a resource.
func nameOf(e *auditv1.Event) string {
	if e.ObjectRef == nil {
		requested, _, _ := strings.Cut(e.RequestURI, "?")
		return e.Verb + " " + requested
	}
	return e.Verb + " " + path.Join(e.ObjectRef.Resource, e.ObjectRef.Subresource)
}

// countRequests reads an audit log and counts the requests of clients whose user agent starts with agent. It ignores an incomplete last
// line.
func countRequests(log io.Reader, agent string) (Counts, error) {
	requests, events := Counts{}, json.NewDecoder(log)
	for {
		var event auditv1.Event
		err := events.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if counts(&event) && strings.HasPrefix(event.UserAgent, agent) {
			requests[nameOf(&event)]++
		}
	}
}
