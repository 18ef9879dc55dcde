package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// digest is a stable hexadecimal number of n digits for names that a real machine gets at random.
func digest(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))

	return hex.EncodeToString(sum[:])[:n]
}

// uuidFrom is a stable UUID, version 4 by its form.
func uuidFrom(parts ...string) string {
	d := digest(32, parts...)

	return d[:8] + "-" + d[8:12] + "-4" + d[13:16] + "-8" + d[17:20] + "-" + d[20:32]
}
