// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"html"
	"math"
	"slices"
	"time"
)

const (
	// labelWidth is that of a letter, on average, and boldWidth that of a bold one.
	labelWidth = 7
	boldWidth  = 8
	// radius is that of the circle around the number of a step.
	radius = 8
	// ticks is how many marks an axis has at most.
	ticks = 8
)

func escape(text string) string { return html.EscapeString(text) }

// steps are those of the story, in their order.
func (r *Recording) steps(ctx context.Context) ([]storyStep, error) {
	lines, err := r.Evaluate(ctx, string(StepMetric))
	if err != nil {
		return nil, err
	}
	var steps []storyStep
	for _, line := range lines {
		steps = append(steps, storyStep{
			number: line.Labels["number"], name: line.Labels["step"],
			first: slices.IndexFunc(line.Values, func(value float64) bool { return !math.IsNaN(value) }),
		})
	}
	slices.SortFunc(steps, func(a, b storyStep) int { return a.first - b.first })
	for i := range steps {
		steps[i].number = fmt.Sprint(i + 1)
	}
	return steps, nil
}

// column is where a scrape is on the axis of time.
func (v view) column(area box, scrape int) int {
	return area.x + area.w*scrape/max(1, len(v.recording.scrapes))
}

// time draws the axis of time below an area, and where the steps of the story begin.
func (p *picture) time(area box, v view) {
	free := area.x
	for _, step := range v.steps {
		x := v.column(area, step.first)
		p.line(x, area.y, x, area.y+area.h, `class="mark" stroke-dasharray="2 3"`)
		// Numbers stay apart, however short a step was.
		p.number(max(x, free), area.y-radius-2, step.number)
		free = max(x, free) + 2*radius + 1
	}
	whole := time.Duration(len(v.recording.scrapes)) * v.recording.Interval
	every := interval(whole)
	for at := time.Duration(0); at <= whole; at += every {
		x := area.x + int(float64(area.w)*float64(at)/float64(whole))
		p.line(x, area.y+area.h, x, area.y+area.h+4, `class="mark"`)
		p.write(x, area.y+area.h+16, `class="dim" font-size="10" text-anchor="middle"`, clock(at))
	}
	p.write(area.x+area.w, area.y+area.h+30, `class="dim" font-size="10" text-anchor="end"`, "time, min:s")
}

// interval is how far apart the marks of an axis of time are.
func interval(whole time.Duration) time.Duration {
	for _, every := range []time.Duration{5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute} {
		if whole <= ticks*every {
			return every
		}
	}
	return 5 * time.Minute
}

func clock(at time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
}

// spacing is how far apart the marks of an axis of whole numbers are.
func spacing(most int) int {
	for every := 1; ; every *= 2 {
		if most <= ticks/2*every {
			return every
		}
	}
}
