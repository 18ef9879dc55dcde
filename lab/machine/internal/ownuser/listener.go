// Package ownuser lets the lab's own user in, and nobody else of this computer: the kernel says whose a loopback
// connection is. It is what lab/own_user.py does for the servers in Python.
package ownuser

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// tables are the kernel's lists of TCP sockets. An IPv4 connection is in the second one if the client's socket is an
// IPv6 one.
var tables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// tries is how often a socket is looked for: the kernel may pass over one while others come and go.
const tries = 3

// mapped is what an IPv4 address begins with where it is written as an IPv6 one.
const mapped = "0000000000000000FFFF0000"

// Listener accepts connections of this user only. Others are closed, and refused is told; it may be nil.
func Listener(inner net.Listener, refused func(remote net.Addr)) net.Listener {
	return &listener{Listener: inner, uid: os.Geteuid(), refused: refused}
}

type listener struct {
	net.Listener

	uid     int
	refused func(net.Addr)
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		if uid, ok := uidOf(conn.RemoteAddr(), conn.LocalAddr()); ok && uid == l.uid {
			return conn, nil
		}

		if l.refused != nil {
			l.refused(conn.RemoteAddr())
		}

		conn.Close()
	}
}

// uidOf is the user whose socket is at one end of a connection. A socket that no process has open any more has none.
func uidOf(end, other net.Addr) (int, bool) {
	first, err := written(end)
	if err != nil {
		return 0, false
	}

	second, err := written(other)
	if err != nil {
		return 0, false
	}

	for range tries {
		for _, table := range tables {
			if uid, ok := lookUp(table, first, second); ok {
				return uid, true
			}
		}

		time.Sleep(5 * time.Millisecond)
	}

	return 0, false
}

func lookUp(table, local, remote string) (int, bool) {
	file, err := os.Open(table)
	if err != nil {
		return 0, false
	}
	defer file.Close()

	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 10 || words[9] == "0" {
			continue
		}

		if strings.TrimPrefix(words[1], mapped) == local && strings.TrimPrefix(words[2], mapped) == remote {
			uid, err := strconv.Atoi(words[7])

			return uid, err == nil
		}
	}

	return 0, false
}

// written is an IPv4 address as the kernel's list has it: a word in the byte order of this computer, and the port.
func written(address net.Addr) (string, error) {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return "", fmt.Errorf("%s is not an IPv4 address", address)
	}

	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port), nil
}
