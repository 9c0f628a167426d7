// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpfront

import (
	"bytes"
	"encoding/xml"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"
)

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

// soapCall holds the part of a SOAP request that the endpoint needs.
type soapCall struct {
	Method string
	// This is the identifier of the called object.
	This string
}

// parseSOAP parses only the method and its _this from an envelope.
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

// restName returns the name of a REST call, with identifiers replaced.
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
