// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package ironic_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/metal3/simulator/ironic"
)

// operator is the client of the tests: it sends the requests of the bare-metal operator.
type operator struct {
	*WithT
	server *ironic.Server
	node   string
	seen   []ironic.Machine
}

func slow() ironic.Delays {
	return ironic.Delays{
		Step: time.Second, Inspecting: time.Minute, Deploying: time.Minute, Cleaning: time.Minute, Power: 5 * time.Second,
		SoftPowerOff: 3 * time.Minute,
	}
}

// runTest runs a test with its own time (synctest), with an enrolled node and a polling server.
func runTest(t *testing.T, run func(*operator)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &operator{WithT: NewWithT(t)}
		o.server = ironic.New(ironic.WithDelays(slow()), ironic.WithObserver(func(m ironic.Machine) { o.seen = append(o.seen, m) }))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go o.server.Run(ctx)
		created := o.request(http.MethodPost, "/v1/nodes", `{"name":"default~host-1","driver":"redfish","driver_info":{"redfish_password":"s"}}`, http.StatusCreated)
		o.node, _ = created["uuid"].(string)
		o.request(http.MethodPost, "/v1/ports", `{"node_uuid":"`+o.node+`","address":"02:00:00:00:00:01"}`, http.StatusCreated)
		run(o)
	})
}

func (o *operator) request(method, path, body string, status int) map[string]any {
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("X-OpenStack-Ironic-API-Version", "1.95")
	o.server.ServeHTTP(recorder, request)
	o.ExpectWithOffset(1, recorder.Code).To(Equal(status), "%s %s: %s", method, path, recorder.Body)
	answer := map[string]any{}
	if recorder.Body.Len() > 0 {
		o.ExpectWithOffset(1, json.Unmarshal(recorder.Body.Bytes(), &answer)).To(Succeed())
	}
	return answer
}

func (o *operator) get() map[string]any {
	return o.request(http.MethodGet, "/v1/nodes/"+o.node, "", http.StatusOK)
}

// provision requests a provision state, and waits for another.
func (o *operator) provision(body, state string) {
	o.request(http.MethodPut, "/v1/nodes/"+o.node+"/states/provision", body, http.StatusAccepted)
	time.Sleep(5 * time.Minute) //nolint:forbidigo // The clock of the test.
	o.ExpectWithOffset(1, o.get()).To(And(HaveKeyWithValue("provision_state", state), HaveKeyWithValue("target_provision_state", BeNil())))
}

func (o *operator) power(target string, status int) {
	o.request(http.MethodPut, "/v1/nodes/"+o.node+"/states/power", `{"target":"`+target+`"}`, status)
	time.Sleep(5 * time.Minute) //nolint:forbidigo // The clock of the test.
}

func (o *operator) fault(name string, on bool, args ...string) {
	o.ExpectWithOffset(1, o.server.SetFault(context.Background(), name, on, args...)).To(Succeed())
}

const deployment = `{"target":"active","configdrive":{"user_data":"#cloud-config","meta_data":{"name":"m-1"}}}`

// deployed moves the node to the state in which a machine runs on it.
func (o *operator) deployed() {
	o.provision(`{"target":"manage"}`, "manageable")
	o.provision(`{"target":"inspect"}`, "manageable")
	o.provision(`{"target":"provide"}`, "available")
	o.provision(deployment, "active")
}

func (o *operator) runs() bool { return o.server.Machines()[0].Runs != nil }

func TestLifeCycle(t *testing.T) {
	runTest(t, func(o *operator) {
		o.request(http.MethodGet, "/v1/nodes/"+o.node+"/inventory", "", http.StatusNotFound)
		o.deployed()
		o.Expect(o.request(http.MethodGet, "/v1/nodes/default~host-1/inventory", "", http.StatusOK)).To(HaveKey("inventory"))
		o.Expect(o.get()).To(And(HaveKeyWithValue("power_state", "power on"), HaveKeyWithValue("instance_uuid", o.node)))
		booted := o.server.Machines()[0].Runs
		o.Expect(booted.UserData).To(Equal("#cloud-config"))
		o.Expect(booted.MetaData).To(HaveKeyWithValue("name", "m-1"))

		o.provision(`{"target":"deleted"}`, "available")
		o.Expect(o.get()).To(And(HaveKeyWithValue("power_state", "power off"), HaveKeyWithValue("instance_uuid", BeNil())))
		o.Expect(o.runs()).To(BeFalse())
		o.power("power on", http.StatusAccepted)
		o.Expect(o.runs()).To(BeFalse(), "its disk is empty")
		o.request(http.MethodDelete, "/v1/nodes/"+o.node, "", http.StatusNoContent)
		o.request(http.MethodGet, "/v1/nodes/"+o.node, "", http.StatusNotFound)
	})
}

func TestPowerLossIsDetectedByFourthPoll(t *testing.T) {
	runTest(t, func(o *operator) {
		o.deployed()
		time.Sleep(30 * time.Second) //nolint:forbidigo // The clock of the test: between two polls.
		o.fault(ironic.Dark, true, "default", "host-1")
		o.Expect(o.runs()).To(BeFalse())
		o.Expect(o.seen[len(o.seen)-1]).To(Equal(ironic.Machine{Name: "default~host-1"}))
		time.Sleep(3 * time.Minute) //nolint:forbidigo // The clock of the test.
		o.Expect(o.get()).To(And(HaveKeyWithValue("power_state", "power on"), HaveKeyWithValue("fault", BeNil())), "the loss is not detected yet")
		time.Sleep(2 * time.Minute) //nolint:forbidigo // The clock of the test.
		o.Expect(o.get()).To(And(
			HaveKeyWithValue("power_state", BeNil()), HaveKeyWithValue("fault", "power failure"), HaveKeyWithValue("maintenance", true),
			HaveKeyWithValue("last_error", ContainSubstring("max retries exceeded")), HaveKeyWithValue("provision_state", "active")))

		o.fault(ironic.Dark, false, "default", "host-1")
		time.Sleep(2 * time.Minute) //nolint:forbidigo // The clock of the test.
		o.Expect(o.get()).To(And(
			HaveKeyWithValue("power_state", "power off"), HaveKeyWithValue("fault", BeNil()), HaveKeyWithValue("maintenance", false),
			HaveKeyWithValue("last_error", ContainSubstring("max retries exceeded"))), "Ironic keeps the error")
		o.power("power on", http.StatusAccepted)
		o.Expect(o.runs()).To(BeTrue())
	})
}

func TestMachineOutlivesNode(t *testing.T) {
	runTest(t, func(o *operator) {
		o.deployed()
		o.request(http.MethodDelete, "/v1/nodes/"+o.node, "", http.StatusConflict)
		o.request(http.MethodPut, "/v1/nodes/"+o.node+"/maintenance", `{"reason":"detached"}`, http.StatusAccepted)
		o.request(http.MethodDelete, "/v1/nodes/"+o.node, "", http.StatusNoContent)
		o.Expect(o.runs()).To(BeTrue())
		o.node, _ = o.request(http.MethodPost, "/v1/nodes", `{"name":"default~host-1"}`, http.StatusCreated)["uuid"].(string)
		o.provision(`{"target":"manage"}`, "manageable")
		o.provision(`{"target":"adopt"}`, "active")
		o.Expect(o.runs()).To(BeTrue())
	})
}

func TestFailingSteps(t *testing.T) {
	runTest(t, func(o *operator) {
		o.fault("failing", true, "default", "host-1", ironic.Verifying, "bad password")
		o.provision(`{"target":"manage"}`, "enroll")
		o.Expect(o.get()).To(HaveKeyWithValue("last_error", ContainSubstring("bad password")))
		o.fault("failing", false, "default", "host-1", ironic.Verifying)
		o.deployed()
		o.fault("failing", true, "default", "host-1", ironic.Cleaning)
		o.provision(`{"target":"deleted"}`, "clean failed")
		o.Expect(o.get()).To(And(HaveKeyWithValue("fault", "clean failure"), HaveKeyWithValue("maintenance", true)))
		o.fault("failing", false, "default", "host-1", ironic.Cleaning)
		o.request(http.MethodDelete, "/v1/nodes/"+o.node+"/maintenance", "", http.StatusAccepted)
		o.provision(`{"target":"manage"}`, "manageable")
		o.provision(`{"target":"provide"}`, "available")
		o.fault("failing", true, "default", "host-1", ironic.Deploying, "no such image")
		o.provision(deployment, "deploy failed")
		o.Expect(o.get()).To(HaveKeyWithValue("last_error", "no such image"))
	})
}

func TestHungSystemIgnoresSoftPowerOff(t *testing.T) {
	runTest(t, func(o *operator) {
		o.deployed()
		o.fault(ironic.Hung, true, "default", "host-1")
		o.power("soft power off", http.StatusAccepted)
		o.Expect(o.get()).To(And(HaveKeyWithValue("power_state", "power on"), HaveKeyWithValue("last_error", ContainSubstring("Timed out"))))
		o.power("power off", http.StatusAccepted)
		o.Expect(o.get()).To(And(HaveKeyWithValue("power_state", "power off"), HaveKeyWithValue("last_error", BeNil())))
	})
}

func TestRefusedRequests(t *testing.T) {
	runTest(t, func(o *operator) {
		node := "/v1/nodes/" + o.node
		o.request(http.MethodPut, node+"/states/provision", deployment, http.StatusBadRequest)
		o.request(http.MethodPut, node+"/states/provision", `{"target":"manage"}`, http.StatusAccepted)
		o.request(http.MethodPatch, node, `[{"op":"add","path":"/name","value":"x"}]`, http.StatusConflict)
		time.Sleep(time.Minute) //nolint:forbidigo // The clock of the test.
		o.request(http.MethodPatch, node, `[{"op":"add","path":"/provision_state","value":"active"}]`, http.StatusBadRequest)
		o.request(http.MethodPatch, node, `[{"op":"add","path":"/instance_info/image_source","value":"http://image"}]`, http.StatusOK)
		o.Expect(o.get()).To(And(
			HaveKeyWithValue("instance_info", HaveKeyWithValue("image_source", "http://image")),
			HaveKeyWithValue("driver_info", HaveKeyWithValue("redfish_password", "******"))))
		o.request(http.MethodPost, "/v1/nodes", `{"name":"default~host-1"}`, http.StatusConflict)
		o.request(http.MethodPost, "/v1/ports", `{"address":"02:00:00:00:00:01"}`, http.StatusConflict)
		o.request(http.MethodPut, node+"/maintenance", `{"reason":"a person"}`, http.StatusAccepted)
		o.request(http.MethodPut, node+"/states/provision", `{"target":"clean"}`, http.StatusBadRequest)
		o.fault("down", true)
		o.request(http.MethodGet, node, "", http.StatusServiceUnavailable)
	})
}

func TestFaultArguments(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := ironic.New()
	for _, fault := range ironic.Faults() {
		args := []string{"default", "host-1", ironic.Power}[:len(fault.Takes)]
		g.Expect(server.SetFault(t.Context(), fault.Name, true, args...)).To(Succeed(), fault.Name)
		g.Expect(server.SetFault(t.Context(), fault.Name, false, args...)).To(Succeed(), fault.Name)
	}
	g.Expect(server.SetFault(t.Context(), "failing", true, "default", "host-1", "dancing")).To(MatchError(ContainSubstring("unknown step")))
}
