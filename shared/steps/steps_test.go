// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package steps_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/steps"
)

func TestStepsRunUpToTheFirstThatFailsOrDoesNotProceed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		second steps.Progress
		err    error
		ran    int
		after  time.Duration
	}{
		"all proceed":       {second: steps.Proceed, ran: 3},
		"one waits":         {second: steps.Wait, ran: 2},
		"one tries again":   {second: steps.Retry(time.Minute), ran: 2, after: time.Minute},
		"one is to at once": {second: steps.Retry(-time.Second), ran: 2},
		"one fails":         {second: steps.Proceed, err: broken, ran: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			step := func(p steps.Progress, err error) steps.Step[*int] {
				return func(_ context.Context, ran *int) (steps.Progress, error) {
					*ran++
					return p, err
				}
			}
			ran := 0
			p, err := steps.Run(t.Context(), &ran, step(steps.Proceed, nil), step(tc.second, tc.err), step(steps.Proceed, nil))
			if tc.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.err))
			}
			g.Expect(ran).To(Equal(tc.ran))
			g.Expect(p).To(Equal(max(tc.second, steps.Proceed)))
			g.Expect(p.After()).To(Equal(tc.after))
			g.Expect(p.Result().RequeueAfter).To(Equal(tc.after))
		})
	}
}

func TestTheStepThatDoesNotProceedIsLoggedByItsName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 4})
	_, err := steps.Run(ctrl.LoggerInto(t.Context(), log), 0, waitForHost)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(ConsistOf(ContainSubstring(`"Step does not proceed" "step"="steps_test.waitForHost" "requeueAfter"="1s" "failed"=false`)))
}

func waitForHost(context.Context, int) (steps.Progress, error) { return steps.Retry(time.Second), nil }
