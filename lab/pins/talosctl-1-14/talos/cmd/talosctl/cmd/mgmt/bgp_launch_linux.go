// In place of Talos's own file, which needs a revision of rtnetlink that cannot be fetched. Only `talosctl cluster
// create` with a BGP fabric would use it, and the lab never creates machines that way.

package mgmt

import (
	"context"
	"errors"

	gobgpsrv "github.com/osrg/gobgp/v4/pkg/server"
)

func fabricZebra(context.Context, *gobgpsrv.BgpServer, []string, string) error {
	return errors.New("this talosctl was built without --bgp-zebra")
}
