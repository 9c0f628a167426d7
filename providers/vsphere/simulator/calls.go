// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

// Calls returns how many calls came in since the start or the last ResetCalls,
// by name: SOAP calls by method ("CloneVM_Task"), REST calls as
// "REST GET /rest/com/vmware/cis/tagging/tag/{id}", with the action of a POST as
// "?~action=attach". A call counts when it arrives, whatever becomes of it. What
// the Server does on its own or through its methods does not count.
func (s *Server) Calls() map[string]int { return s.endpoint.Calls() }

// ResetCalls sets all counters to zero.
func (s *Server) ResetCalls() { s.endpoint.ResetCalls() }

// LoseAnswers makes the server carry out the next n calls of a name, as Calls has it,
// and close the connection in place of an answer; n below zero means all until n is
// set to zero.
func (s *Server) LoseAnswers(name string, n int) { s.endpoint.LoseAnswers(name, n) }

// OverloadCalls makes the proxy in front of vCenter answer the next n calls of a name
// with status 503 and a page for people; n below zero means all until n is set to
// zero. The calls are not carried out.
func (s *Server) OverloadCalls(name string, n int) { s.endpoint.Overload(name, n) }

// HoldCalls has the server neither carry out nor answer calls of a name, as Calls has
// it, until it is called again with false.
func (s *Server) HoldCalls(name string, on bool) { s.endpoint.Hold(name, on) }
