package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// listenUnix binds a socket that only its owner may use. A socket address holds some
// hundred bytes, and the directory of a lab may be deeper: so it is bound by its base
// name from within the directory. Called at the start, since directory and umask are
// those of the whole process.
func listenUnix(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	before, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	defer os.Chdir(before)

	name := filepath.Base(path)
	if err := removeDead(name); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	mask := syscall.Umask(0o177)
	defer syscall.Umask(mask)
	bound, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	bound.SetUnlinkOnClose(false) // it would look for the name in the wrong directory
	return &unixListener{bound, path}, nil
}

// removeDead removes a socket that a killed proxy left, but never a living one's.
func removeDead(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("is there already and is no socket")
	}
	if conn, err := net.Dial("unix", name); err == nil {
		conn.Close()
		return errors.New("another proxy listens there")
	}
	return os.Remove(name)
}

type unixListener struct {
	*net.UnixListener
	path string
}

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	os.Remove(l.path)
	return err
}
