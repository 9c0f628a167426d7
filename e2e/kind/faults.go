// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// setFault tells a simulator.
func setFault(ctx context.Context, url, fault string, present bool) error {
	method := http.MethodDelete
	if present {
		method = http.MethodPut
	}
	request, err := http.NewRequestWithContext(ctx, method, url+"/faults/"+fault, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("reaching the simulator: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	said, err := io.ReadAll(response.Body)
	return errors.Join(fmt.Errorf("setting fault %s: %s: %s", fault, response.Status, strings.TrimSpace(string(said))), err)
}
