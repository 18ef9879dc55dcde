// Command omnictl is Omni's command line. Its own main package is in Omni's server module, which the Go proxy does
// not have; everything else is in the published client module, so this is all that is missing.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/siderolabs/omni/client/pkg/omnictl"
	"github.com/siderolabs/omni/client/pkg/version"
)

func main() {
	version.Name = "omni"
	version.SuppressVersionWarning = true
	omnictl.RootCmd.Version = version.String()

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()

	if err := omnictl.RootCmd.ExecuteContext(ctx); err != nil {
		cancel()
		os.Exit(1) //nolint:gocritic // cancel was called
	}
}
