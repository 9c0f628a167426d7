// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"bytes"
	"encoding/xml"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Calls returns how many calls came in since the start or the last ResetCalls,
// by name: SOAP calls by method ("CloneVM_Task"), REST calls as
// "REST GET /rest/com/vmware/cis/tagging/tag/{id}", with the action of a POST as
// "?~action=attach". A call counts when it arrives, whatever becomes of it. What
// the Server does on its own or through its methods does not count.
func (s *Server) Calls() map[string]int { return s.endpoint.calls.snapshot() }

// ResetCalls sets all counters to zero.
func (s *Server) ResetCalls() { s.endpoint.calls.reset() }

type callCounter struct {
	mu     sync.Mutex
	byName map[string]int
}

func (c *callCounter) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]int{}
	}
	c.byName[name]++
}

func (c *callCounter) snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	maps.Copy(out, c.byName)
	return out
}

func (c *callCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byName)
}

// soapCall is what a SOAP request asks for, as far as the endpoint needs to know.
type soapCall struct {
	Method string
	// This is the identifier of the object that is called.
	This string
}

// parseSOAP reads the method and its _this from an envelope, and no further.
func parseSOAP(body []byte) (soapCall, bool) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	call, inBody := soapCall{}, false
	for {
		token, err := decoder.Token()
		if err != nil {
			return call, call.Method != ""
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case !inBody:
			inBody = start.Name.Local == "Body"
		case call.Method == "":
			call.Method = start.Name.Local
		default:
			if start.Name.Local == "_this" {
				_ = decoder.DecodeElement(&call.This, &start)
			}
			return call, true
		}
	}
}

// restName names a REST call without the identifiers in it.
func restName(r *http.Request) string {
	segments := strings.Split(r.URL.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "id:") || strings.HasPrefix(segment, "urn:") || uuid.Validate(segment) == nil {
			segments[i] = "{id}"
		}
	}
	name := "REST " + r.Method + " " + strings.Join(segments, "/")
	for _, key := range []string{"~action", "action"} {
		if action := r.URL.Query().Get(key); action != "" {
			return name + "?" + key + "=" + action
		}
	}
	return name
}
