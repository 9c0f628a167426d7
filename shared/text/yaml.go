// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// YAML is yaml.Marshal for values that users write. It escapes characters that YAML does not allow literally, such as DEL, for
// which yaml.Marshal returns an error. Bytes that are not UTF-8 become U+FFFD. It returns an error if value cannot be encoded as
// JSON, or if an escaped key has more than 1,024 characters, which YAML parsers reject.
func YAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	var escaped bytes.Buffer
	for len(data) > 0 {
		letter, size := utf8.DecodeRune(data)
		if isControl(letter) {
			fmt.Fprintf(&escaped, `\u%04x`, letter)
		} else {
			escaped.Write(data[:size])
		}
		data = data[size:]
	}
	out, err := yaml.JSONToYAML(escaped.Bytes())
	if err != nil {
		return nil, fmt.Errorf("encoding YAML: %w", err)
	}
	return out, nil
}

// isControl reports whether JSON allows a character literally in a string, and YAML 1.2 (5.1) does not, or treats it as a line
// break.
func isControl(letter rune) bool {
	return letter >= 0x7f && letter < 0xa0 || letter == 0xfeff || letter == 0xfffe || letter == 0xffff
}
