package redis

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often keys are looked at that may have expired.
const tick = 100 * time.Millisecond

// Config is what the flags and the environment of the program say.
type Config struct {
	Listen   string
	Health   string
	Password string // empty: none is asked for
}

// Run serves until the context ends.
func Run(ctx context.Context, config Config) error {
	store := miniredis.NewMiniRedis()
	if config.Password != "" {
		store.RequireAuth(config.Password)
	}
	if err := store.StartAddr(config.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer store.Close()

	failed := make(chan error, 1)
	if config.Health != "" {
		web, err := serveHealth(config.Health, store.Addr(), failed)
		if err != nil {
			return fmt.Errorf("--health: %w", err)
		}
		defer web.Close()
	}
	log.Printf("listening on %s", store.Addr())

	clock := time.NewTicker(tick)
	defer clock.Stop()
	last := time.Now()
	for {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			log.Print("stopping")
			return nil
		case <-clock.C:
			// Time stands still in miniredis until it is told otherwise.
			now := time.Now()
			store.FastForward(now.Sub(last))
			last = now
		}
	}
}
