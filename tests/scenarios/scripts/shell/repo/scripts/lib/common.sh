#!/usr/bin/env bash
log() { printf '%s\n' "$*"; }
