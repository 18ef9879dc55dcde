package proxy

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// The real decoder has to understand what is encoded by hand.
func TestErrorEventInProtobuf(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	frame := protobufFrames{}.errorEvent(newStatus(http.StatusGone, "Expired", goneMessage))

	reader := protobuf.LengthDelimitedFramer.NewFrameReader(io.NopCloser(bytes.NewReader(frame)))
	data := make([]byte, len(frame))
	n, err := reader.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var event metav1.WatchEvent
	if _, _, err := protobuf.NewRawSerializer(scheme, scheme).Decode(data[:n], nil, &event); err != nil {
		t.Fatal(err)
	}
	object, _, err := protobuf.NewSerializer(scheme, scheme).Decode(event.Object.Raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, ok := object.(*metav1.Status)
	if !ok || event.Type != "ERROR" || status.Code != 410 || status.Reason != metav1.StatusReasonExpired || status.Message != goneMessage {
		t.Errorf("%s %#v", event.Type, object)
	}
}
