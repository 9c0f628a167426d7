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

// auditPolicy has the API server write down what ServiceAccounts do: managers run
// as such, and nothing else in the management cluster does.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`

// auditEvent is what matters of a line of the API server's audit log.
type auditEvent struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	ObjectRef  *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// counts tells whether the event stands for a request: a watch counts when it
// starts, everything else when it is answered.
func (e auditEvent) counts() bool {
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete"
}

// name is the verb and the resource, or the path of what is no resource.
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

// countRequests reads an audit log and counts the requests of the clients whose
// user agent starts with agent, and the failed ones among them. A last line that
// is still being written is left out.
func countRequests(log io.Reader, agent string) (requests, failed Counts, err error) {
	requests, failed = Counts{}, Counts{}
	lines := bufio.NewReader(log)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, failed, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, nil, fmt.Errorf("reading line %d of the audit log: %w", number, err)
		}
		if !event.counts() || !strings.HasPrefix(event.UserAgent, agent) {
			continue
		}
		requests[event.name()]++
		if code := event.ResponseStatus.Code; code >= 400 {
			failed[fmt.Sprintf("%s %d", event.name(), code)]++
		}
	}
}
