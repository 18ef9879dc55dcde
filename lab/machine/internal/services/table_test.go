package services

import (
	"slices"
	"testing"
)

func TestTheSameTwiceIsNoNews(t *testing.T) {
	var heard []Change

	table := New(func(c Change) { heard = append(heard, c) })
	table.Set("etcd", Running, "Started")
	table.Set("etcd", Running, "Started")
	table.SetHealth("etcd", true, "")
	table.SetHealth("etcd", true, "")

	if len(heard) != 2 || !heard[1].Healthy || heard[1].Unknown {
		t.Errorf("%+v", heard)
	}
}

func TestHealthEndsWithTheProcess(t *testing.T) {
	table := New(func(Change) {})
	table.Set("etcd", Running, "Started")
	table.SetHealth("etcd", true, "")
	table.Set("etcd", Failed, "exited")

	info := table.List()[0]
	if info.State != Failed || !info.Health.Unknown || info.Health.Healthy {
		t.Errorf("%+v", info)
	}

	if last := info.Events.Events[len(info.Events.Events)-1]; last.Msg != "exited" || last.State != Failed {
		t.Errorf("%+v", last)
	}
}

func TestProblemsNameWhatIsMissingBrokenOrSick(t *testing.T) {
	table := New(func(Change) {})
	table.Set("apid", Running, "Started")
	table.SetHealth("apid", true, "")
	table.Set("etcd", Running, "Started")
	table.SetHealth("etcd", false, "no leader")
	table.Set("kubelet", Finished, "stopped")

	want := []string{"etcd not healthy", "kubelet not running", "trustd not running"}
	if got := table.Problems("apid", "etcd", "kubelet", "trustd"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	table := New(func(Change) {})
	for range 50 {
		table.Set("etcd", Running, "a")
		table.Set("etcd", Waiting, "b")
	}

	if n := len(table.List()[0].Events.Events); n != kept {
		t.Errorf("%d events", n)
	}
}
