// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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

// auditEvent holds the relevant fields of one line of the API server's audit log.
type auditEvent struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	ObjectRef  *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// counts reports whether the event stands for a request. A watch counts when it starts, every other request when it is answered.
func (e auditEvent) counts() bool {
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete"
}

// name returns the verb and the resource, or the path of a request without a resource.
func (e auditEvent) name() string {
	switch {
	case e.ObjectRef == nil:
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return e.Verb + " " + path
	case e.ObjectRef.Subresource != "":
		return e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
	default:
		return e.Verb + " " + e.ObjectRef.Resource
	}
}

// countRequests reads an audit log and counts the requests of clients whose user agent starts with agent. It ignores an incomplete last
// line.
func countRequests(log io.Reader, agent string) (Counts, error) {
	requests := Counts{}
	lines := bufio.NewReader(log)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("reading line %d of the audit log: %w", number, err)
		}
		if event.counts() && strings.HasPrefix(event.UserAgent, agent) {
			requests[event.name()]++
		}
	}
}
