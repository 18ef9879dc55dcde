package proxy

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
)

// frames splits the body of a watch into its events.
type frames interface {
	next() ([]byte, error)
	// errorEvent is an event of type ERROR in the same encoding.
	errorEvent(kubeStatus) []byte
}

// newFrames chooses by media type. Clients of CRDs get JSON, the Kubernetes controllers
// ask for protobuf. In anything else each read counts as an event.
func newFrames(contentType string, body io.Reader) frames {
	switch {
	case strings.HasPrefix(contentType, "application/json"):
		return jsonFrames{bufio.NewReader(body)}
	case strings.HasPrefix(contentType, "application/vnd.kubernetes.protobuf"):
		return protobufFrames{body}
	}
	return rawFrames{body}
}

// jsonFrames: one event per line.
type jsonFrames struct{ body *bufio.Reader }

func (f jsonFrames) next() ([]byte, error) {
	line, err := f.body.ReadBytes('\n')
	if len(line) > 0 {
		return line, nil // a half line at the end is passed on; the error comes with the next call
	}
	return nil, err
}

func (f jsonFrames) errorEvent(status kubeStatus) []byte {
	event, _ := json.Marshal(map[string]any{"type": "ERROR", "object": status})
	return append(event, '\n')
}

// protobufFrames: four bytes of length, big endian, before each event.
type protobufFrames struct{ body io.Reader }

// An object is at most some megabytes; more means that these are not frames.
const maxFrame = 64 << 20

func (f protobufFrames) next() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(f.body, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxFrame {
		return nil, io.ErrUnexpectedEOF
	}
	frame := make([]byte, 4+size)
	copy(frame, length[:])
	_, err := io.ReadFull(f.body, frame[4:])
	return frame, err
}

func (f protobufFrames) errorEvent(status kubeStatus) []byte {
	event := protobufErrorEvent(status)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

type rawFrames struct{ body io.Reader }

func (f rawFrames) next() ([]byte, error) {
	chunk := make([]byte, 32<<10)
	n, err := f.body.Read(chunk)
	if n > 0 {
		return chunk[:n], nil
	}
	return nil, err
}

func (f rawFrames) errorEvent(kubeStatus) []byte { return nil }
