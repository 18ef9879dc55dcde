package machine

import (
	"maps"

	"firstlight.dev/lab/machine/internal/disk"
)

// WriteTag keeps a value in the META partition.
func (m *Machine) WriteTag(key uint8, value string) error {
	return m.changeTags(func(tags map[uint8]string) { tags[key] = value })
}

// DeleteTag forgets a value of the META partition; whether there was one.
func (m *Machine) DeleteTag(key uint8) (bool, error) {
	var found bool

	err := m.changeTags(func(tags map[uint8]string) {
		_, found = tags[key]
		delete(tags, key)
	})

	return found, err
}

func (m *Machine) changeTags(change func(map[uint8]string)) error {
	var now map[uint8]string

	err := m.Disk.ChangeMeta(func(meta *disk.Meta) {
		if meta.Tags == nil {
			meta.Tags = map[uint8]string{}
		}

		change(meta.Tags)
		now = maps.Clone(meta.Tags)
	})
	if err != nil {
		return err
	}

	return m.Resources.SetMeta(now)
}
