// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

// Calls returns the number of calls since the start or the last ResetCalls, by name: SOAP calls by method ("CloneVM_Task"), REST
// calls as "REST GET /rest/com/vmware/cis/tagging/tag/{id}", with the action of a POST as "?~action=attach". A call is counted
// when it arrives, whatever its outcome. Calls that the Server makes itself or through its methods are not counted.
func (s *Server) Calls() map[string]int { return s.endpoint.Calls() }

// ResetCalls sets all counters to zero.
func (s *Server) ResetCalls() { s.endpoint.ResetCalls() }

// LoseAnswers makes the server execute the next n calls with this name, as in Calls, and close the connection without a response;
// n below zero means all until n is set to zero.
func (s *Server) LoseAnswers(name string, n int) { s.endpoint.LoseAnswers(name, n) }

// OverloadCalls makes the proxy in front of vCenter respond to the next n calls with this name with status 503 and an HTML page;
// n below zero means all until n is set to zero. The calls are not executed.
func (s *Server) OverloadCalls(name string, n int) { s.endpoint.Overload(name, n) }

// HoldCalls makes the server hang calls with this name, as in Calls, without executing them, until it is called again with false.
func (s *Server) HoldCalls(name string, on bool) { s.endpoint.Hold(name, on) }
