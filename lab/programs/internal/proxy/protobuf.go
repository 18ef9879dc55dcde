package proxy

import "encoding/binary"

// protobufErrorEvent encodes a metav1.WatchEvent that holds a metav1.Status, by hand:
// the field numbers are those of apimachinery's generated.proto files, and the proxy
// stays free of dependencies.
func protobufErrorEvent(s kubeStatus) []byte {
	status := field(1, "")                          // ListMeta metadata
	status = append(status, field(2, s.Status)...)  // string status
	status = append(status, field(3, s.Message)...) // string message
	status = append(status, field(4, s.Reason)...)  // string reason
	status = append(status, 6<<3)                   // int32 code, a varint
	status = binary.AppendUvarint(status, uint64(s.Code))

	kind := append(field(1, s.APIVersion), field(2, s.Kind)...)
	unknown := append(field(1, kind), field(2, status)...) // TypeMeta typeMeta, bytes raw
	object := append([]byte("k8s\x00"), unknown...)        // the magic number before each object

	return append(field(1, "ERROR"), field(2, field(1, object))...) // string type, RawExtension{bytes raw}
}

// field encodes a string, bytes or embedded message.
func field[T ~string | ~[]byte](number int, value T) []byte {
	encoded := binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(value)))
	return append(encoded, value...)
}
