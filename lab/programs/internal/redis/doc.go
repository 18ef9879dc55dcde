// Package redis is a Redis for one lab: miniredis, which is made for tests, with a clock,
// a password and a health answer. Everything is in memory and ends with the process.
//
//	server.go  start and stop, the clock
//	health.go  GET /healthz
package redis
