// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Request records who has set the state of a failure domain, and why.
type Request struct {
	State  faultlinev1.DomainState `json:"state"`
	By     string                  `json:"by,omitempty"`
	Time   metav1.Time             `json:"time,omitzero"`
	Reason string                  `json:"reason,omitempty"`
}

// Requests returns the requests that an infrastructure cluster records, by failure domain; none if the annotation is invalid. Other
// clients may write the annotation, so characters that a terminal interprets are removed.
func Requests(annotations map[string]string) map[string]Request {
	requests := map[string]Request{}
	if err := json.Unmarshal([]byte(annotations[faultlinev1.StateReasonsAnnotation]), &requests); err != nil {
		return map[string]Request{}
	}
	for name, request := range requests {
		request.By, request.Reason = printable(request.By), printable(request.Reason)
		requests[name] = request
	}
	return requests
}

// printable removes characters that are not printable.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}
