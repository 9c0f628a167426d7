// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/shared/reconcile"
)

func TestRunSteps(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		second reconcile.Progress
		err    error
		ran    int
		after  time.Duration
	}{
		"all proceed":       {second: reconcile.Proceed, ran: 3},
		"one waits":         {second: reconcile.Wait, ran: 2},
		"one tries again":   {second: reconcile.Retry(time.Minute), ran: 2, after: time.Minute},
		"one is to at once": {second: reconcile.Retry(-time.Second), ran: 2},
		"one fails":         {second: reconcile.Proceed, err: broken, ran: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			step := func(p reconcile.Progress, err error) reconcile.Step[*int] {
				return func(_ context.Context, ran *int) (reconcile.Progress, error) {
					*ran++
					return p, err
				}
			}
			ran := 0
			p, err := reconcile.RunSteps(t.Context(), &ran, step(reconcile.Proceed, nil), step(tc.second, tc.err), step(reconcile.Proceed, nil))
			if tc.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.err))
			}
			g.Expect(ran).To(Equal(tc.ran))
			g.Expect(p).To(Equal(max(tc.second, reconcile.Proceed)))
			g.Expect(p.After()).To(Equal(tc.after))
			g.Expect(p.Result().RequeueAfter).To(Equal(tc.after))
		})
	}
}

func TestRunStepsLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 4})
	_, err := reconcile.RunSteps(ctrl.LoggerInto(t.Context(), log), 0, waitForHost)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(ConsistOf(ContainSubstring(`"Step does not proceed" "step"="reconcile_test.waitForHost" "requeueAfter"="1s" "failed"=false`)))
}

func waitForHost(context.Context, int) (reconcile.Progress, error) {
	return reconcile.Retry(time.Second), nil
}
